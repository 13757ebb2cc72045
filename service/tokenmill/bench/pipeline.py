"""Benchmark of a whole worker on a real Kafka, beside a pass-through over the same input topic.

Both are child processes with one event loop, read the same preloaded topic from its beginning in a fresh consumer
group, and commit at the same interval. A run is timed by the group's committed offsets, from the first tenth of the
records on, so that starting and joining do not count. The two take turns; their medians are compared.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from uuid import uuid4

import msgspec
from aiokafka.admin import AIOKafkaAdminClient

from tokenmill.bench.kafka import committed, create_topics, delete_topics, preload, written
from tokenmill.bench.load import PARTITIONS, Load, Shape, shape_of
from tokenmill.bench.passthrough import Job, PassThrough
from tokenmill.bench.processes import processor_seconds
from tokenmill.errors import FatalError
from tokenmill.parser import Options
from tokenmill.servers import KafkaServer, RedisServer
from tokenmill.servers.process import Server
from tokenmill.servers.worker import Settings, WorkerProcess
from tokenmill.session import SessionSettings

COMMIT_INTERVAL_MS = 100
"""The service's default, for both sides."""

WARM_UP = 0.1
"""Share of the records before the clock starts."""

POLL_S = 0.05
"""Between two looks at the committed offsets: small against a run of seconds."""

COMPLETE = 0.95
"""Of the outputs that are expected from the first records, extrapolated to all; a side that writes less is broken."""

RUN_DEADLINE_S = 300.0

SIDES = ("pass-through", "worker")


class Run(msgspec.Struct, frozen=True):
    """One run of one side."""

    records_per_s: float
    processor: float | None
    """Processor time of the process in seconds per second: at 1.0 its one event loop is the limit."""
    broker_processor: float | None

    @property
    def processor_us(self) -> float | None:
        """Processor time for one record: says more than the rate where others use the machine, too."""
        return None if self.processor is None else self.processor / self.records_per_s * 1e6


class Pipeline(msgspec.Struct, frozen=True):
    """The whole benchmark."""

    load: Load
    shape: Shape
    partitions: int
    commit_interval_ms: int
    runs: dict[str, list[Run]]

    def rate(self, side: str) -> float:
        """Median of a side's rates, in records a second."""
        return median(run.records_per_s for run in self.runs[side])

    def processor_us(self, side: str) -> float | None:
        """Median of a side's processor times for one record, in microseconds."""
        known = [run.processor_us for run in self.runs[side] if run.processor_us is not None]
        return median(known) if known else None

    @property
    def ratio(self) -> float:
        """What part of the pass-through's rate the worker reaches."""
        return self.rate("worker") / self.rate("pass-through")


def run_pipeline(*, bootstrap: str | None, records: int, rounds: int, progress: Callable[[str], None]) -> Pipeline:
    """Measure on the Kafka at `bootstrap`, or on one started for it. Raises `FatalError` if a run gets stuck."""
    with tempfile.TemporaryDirectory(prefix="tokenmill-bench-") as scratch, ExitStack() as stack:
        folder = Path(scratch)
        broker = None
        if bootstrap is None:
            progress("starting Kafka")
            broker = stack.enter_context(KafkaServer(folder / "kafka", heap="1g"))
            bootstrap = broker.bootstrap
        redis = stack.enter_context(RedisServer(folder / "redis"))
        bench = _Bench(folder, bootstrap, redis.url, broker, Load(records))
        progress(f"putting {records:,} records on the topic")
        runs = asyncio.run(bench.measure(rounds, progress))
        return Pipeline(bench.load, bench.shape, PARTITIONS, COMMIT_INTERVAL_MS, runs)


class _Bench:
    """What all runs of one benchmark share."""

    def __init__(self, folder: Path, bootstrap: str, redis_url: str, broker: Server | None, load: Load) -> None:
        self.load = load
        self.shape = shape_of(SessionSettings(defaults=Options(format="hermes")))
        self._folder = folder
        self._bootstrap = bootstrap
        self._redis_url = redis_url
        self._broker = broker
        # Names of their own: the Kafka may be one that is used for other things.
        self._prefix = f"tokenmill-bench-{uuid4().hex[:8]}"
        self._topics = {name: f"{self._prefix}-{name}" for name in ("tokens", "events", "tool-calls", "dlq", "target")}

    async def measure(self, rounds: int, progress: Callable[[str], None]) -> dict[str, list[Run]]:
        """Put the load on its topic and run both sides over it, in turns."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
        await admin.start()
        try:
            await create_topics(admin, list(self._topics.values()))
            await preload(self._bootstrap, self._topics["tokens"], self.load)
            runs: dict[str, list[Run]] = {side: [] for side in SIDES}
            for number in range(rounds):
                for side in SIDES:
                    run = await self._run(admin, side)
                    progress(f"{side}, run {number + 1} of {rounds}: {run.records_per_s:,.0f} records/s")
                    runs[side].append(run)
            return runs
        finally:
            await delete_topics(admin, list(self._topics.values()))
            await admin.close()

    async def _run(self, admin: AIOKafkaAdminClient, side: str) -> Run:
        """Start one side, wait until it has done the first tenth, and time the rest."""
        group = f"{self._prefix}-{uuid4().hex[:8]}"
        targets, per_record = self._outputs(side)
        before = await written(self._bootstrap, targets)
        process = self._process(side, group)
        try:
            await asyncio.to_thread(process.start)  # in a thread: this loop has connections to keep alive
            async with asyncio.timeout(RUN_DEADLINE_S):
                run = await self._timed(admin, group, process)
        except TimeoutError as late:
            raise FatalError(f"the {side} did not get through the load within {RUN_DEADLINE_S:.0f} s") from late
        finally:
            await asyncio.to_thread(process.stop)
        wrote = await written(self._bootstrap, targets) - before
        if wrote < self.load.records * per_record * COMPLETE:
            raise FatalError(f"the {side} wrote only {wrote:,} records; its rate means nothing")
        return run

    def _outputs(self, side: str) -> tuple[list[str], float]:
        """The topics that a side writes to, and how many records it must write for each that it reads."""
        if side == "worker":
            return [self._topics["events"], self._topics["tool-calls"]], self.shape.outputs_per_record
        return [self._topics["target"]], 1.0

    def _process(self, side: str, group: str) -> Server:
        folder = self._folder / group
        if side == "worker":
            return WorkerProcess(folder, self._settings(group))
        job = Job(
            bootstrap=self._bootstrap,
            group=group,
            source=self._topics["tokens"],
            target=self._topics["target"],
            value_bytes=round(self.shape.mean_output_bytes),
            commit_interval_s=COMMIT_INTERVAL_MS / 1_000,
        )
        return PassThrough(folder, job)

    def _settings(self, group: str) -> Settings:
        return {
            "kafka": {"bootstrap_servers": self._bootstrap, "group_id": group},
            "redis": {"url": self._redis_url, "key_prefix": group},
            "topics": {
                "tokens": self._topics["tokens"],
                "events": self._topics["events"],
                "tool_calls": self._topics["tool-calls"],
                "dlq": self._topics["dlq"],
            },
            "parser": {"format": "hermes"},
            "worker": {"commit_interval_ms": COMMIT_INTERVAL_MS},
        }

    async def _timed(self, admin: AIOKafkaAdminClient, group: str, process: Server) -> Run:
        first = await self._reach(admin, group, process, round(self.load.records * WARM_UP))
        started, used = time.monotonic(), self._used(process)
        if first == self.load.records:
            raise FatalError(f"{first:,} records are done in one commit; measure with more")
        last = await self._reach(admin, group, process, self.load.records)
        took, used_later = time.monotonic() - started, self._used(process)
        process_s, broker_s = (
            (later - before) / took if before is not None and later is not None else None
            for before, later in zip(used, used_later, strict=True)
        )
        return Run((last - first) / took, process_s, broker_s)

    async def _reach(self, admin: AIOKafkaAdminClient, group: str, process: Server, records: int) -> int:
        while (done := await committed(admin, group, self._topics["tokens"])) < records:
            if not process.alive:
                raise FatalError(f"{process.name} ended by itself: {process.log_end()}")
            await asyncio.sleep(POLL_S)
        return done

    def _used(self, process: Server) -> tuple[float | None, float | None]:
        broker = processor_seconds(self._broker.pid) if self._broker else None
        return processor_seconds(process.pid), broker
