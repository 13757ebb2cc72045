"""One run: servers, workers and conversations; faults from the plan; rest; judgement.

invariant                                                               where it is looked at
I1  every event once, in order                                          `judge`
I2  state that goes on: calls and completions are whole                 `judge`
I3  committed offsets never go back                                     `watch.Commits`
I4  at rest no transaction is open, and the group is empty              `settle`
I5  no two owners of a partition write in turns                         `settle`
I6  snapshots never go back, and are of what is committed               `watch.Heads`
I7  work goes on without Redis                                          `faults.redis_freeze`
I8  a restart of static members is no rebalance                         `faults.static_restart`
I9  SIGTERM: exit code 0 in time, and nothing is published again        `faults.Scene.orderly`, `settle`
I10 a record that can't be used is one dead letter                      `judge`, `settle`
I11 no lag soon after the last fault                                    `run`
I12 no memory is left when all messages are over                        `settle`
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tests.chaos.crew import START_S, Crew
from tests.chaos.faults import FAULTS, FORMATS, Scene
from tests.chaos.feed import LIVE, Feeder
from tests.chaos.plan import KINDS, Step, steps
from tests.chaos.report import Report
from tests.chaos.settle import settle
from tests.chaos.watch import Commits, Heads, Reader, keep_sampling
from tests.support.stage import Stage, until
from tests.support.topics import make_topics
from tokenmill.config import Kafka
from tokenmill.kafka.topic_log import cluster_id
from tokenmill.servers import KafkaServer, RedisServer
from tokenmill.store import RedisStore

PARTITIONS = 6

LAG_S = 30.0
"""After the last fault."""

IDLE_S = 12
"""Longer than an outage of the broker, in which nobody can send anything."""

BROKER = {"broker.session.timeout.ms": "5000"}
"""A busy machine must not look like a broker that died."""

SETTINGS = {
    "kafka": {
        "session_timeout_ms": 6_000,
        "heartbeat_interval_ms": 500,
        "rebalance_timeout_ms": 20_000,
        "request_timeout_ms": 30_000,
    },
    "worker": {
        "idle_timeout_s": IDLE_S,
        "commit_interval_ms": 200,  # rarely, so that a kill finds much that is published and not committed
        "transaction_interval_ms": 100,
        "transaction_timeout_ms": 20_000,
        "snapshot_interval_s": 1,
        "stall_timeout_s": 30,
    },
}


class Options(NamedTuple):
    """Of a run."""

    delivery: str
    seed: int
    seconds: float
    """Of faults; every kind comes at least once, however long that takes."""
    rate: float = 300
    """Of chunks a second: what is under test are faults, not load."""
    say: Callable[[str], None] = print


async def run(options: Options, folder: Path) -> Report:
    """Everything that can go wrong with the service is in the report; what goes wrong with the run itself raises."""
    report = Report(delivery=options.delivery, seed=options.seed)
    with ExitStack() as stack:
        kafka = KafkaServer(folder / "kafka", BROKER)
        kafka.start_s = START_S
        stack.enter_context(kafka)
        redis_server = stack.enter_context(RedisServer(folder / "redis"))
        async with _stage(folder, kafka, redis_server, options) as stage:
            await _faults(options, stage, (kafka, redis_server), report)
    return report


@asynccontextmanager
async def _stage(folder: Path, kafka: KafkaServer, redis_server: RedisServer, options: Options) -> AsyncIterator[Stage]:
    async with Stage(folder, kafka.bootstrap, "chaos", redis_server.url, PARTITIONS) as stage:
        for section, values in SETTINGS.items():
            stage.settings[section] |= values
        stage.settings["worker"]["delivery"] = options.delivery
        stage.settings["topics"]["completions"] = "completions-chaos"
        stage.settings["parser"] = {"format": FORMATS[0]}
        await make_topics(kafka.bootstrap, "completions-chaos", partitions=PARTITIONS)
        yield stage


async def _faults(options: Options, stage: Stage, servers: tuple[KafkaServer, RedisServer], report: Report) -> None:
    commits = Commits(stage.bootstrap, stage.group)
    settings = stage.settings["redis"]
    cluster = await cluster_id(Kafka(bootstrap_servers=stage.bootstrap))
    store = RedisStore(settings["url"], group=stage.group, cluster=cluster, prefix=settings["key_prefix"])
    heads = Heads(store, stage.topics.tokens, PARTITIONS, commits)
    readers = {kind: Reader(stage.bootstrap, topic) for kind, topic in topics_of(stage).items()}
    feeder = Feeder(stage.bootstrap, stage.topics.tokens, options.seed, options.rate)
    enough = asyncio.Event()
    sampling = asyncio.create_task(keep_sampling(commits, heads, enough))
    reading = [asyncio.create_task(reader.run()) for reader in readers.values()]
    try:
        async with Crew(stage) as crew:
            scene = Scene(stage, crew, feeder, servers, (commits, heads))
            feeding = asyncio.create_task(feeder.run())
            try:
                await _go_through_plan(options, scene, report)
            finally:
                feeder.enough.set()
            await feeding
            began = time.monotonic()
            await until(stage.caught_up, "no lag", LAG_S)
            report.lag_s = time.monotonic() - began
            await settle(scene, readers, report)
    finally:
        enough.set()
        for task in reading:
            task.cancel()
        ends = await asyncio.gather(sampling, *reading, return_exceptions=True)
        report.problems += [f"watching failed: {end!r}" for end in ends if isinstance(end, Exception)]
        await commits.close()
        await store.close()


def topics_of(stage: Stage) -> dict[str, str]:
    """Output topics by their kinds."""
    names = stage.settings["topics"]
    return {kind: names[kind] for kind in ("events", "tool_calls", "completions", "dlq")}


async def _go_through_plan(options: Options, scene: Scene, report: Report) -> None:
    await until(lambda: scene.feeder.live >= LIVE * 0.95, "the conversations have begun")
    await scene.well()
    scene.save_dump()
    report.fewest_live = scene.feeder.live
    began = time.monotonic()
    happened: Counter[str] = Counter()
    for step in steps(options.seed):
        if time.monotonic() - began > options.seconds and len(happened) == len(KINDS):
            break
        happened[step.kind] += 1
        if not await _step(options, scene, step, report):
            break
    report.faults = dict(happened)
    report.seconds = time.monotonic() - began


async def _step(options: Options, scene: Scene, step: Step, report: Report) -> bool:
    """Whether the service came through, as far as one can see now; else no other fault would say more."""
    await asyncio.sleep(step.pause_s)
    report.fewest_live = min(report.fewest_live, scene.feeder.live)
    rss = [_rss_mib(life.worker.pid) for life in scene.crew.working()]
    report.largest_rss_mib = max([report.largest_rss_mib, *rss])
    began, problems = time.monotonic(), len(report.problems)
    scene.happened.append((time.time(), step.kind))
    try:
        await FAULTS[step.kind](scene, random.Random(step.seed))
    except AssertionError as problem:
        report.problems.append(f"{step.kind}: {problem}")
    took = time.monotonic() - began
    report.fault_seconds[step.kind] = round(report.fault_seconds.get(step.kind, 0) + took, 1)
    options.say(f"{step.kind}: {took:.1f} s")
    return len(report.problems) == problems


def _rss_mib(pid: int) -> int:
    """Resident memory; 0 for a process that has just ended."""
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS:")), 0)
    return 0
