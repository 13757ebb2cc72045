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

from tokenmill.bench.kafka import committed, create_topics, preload
from tokenmill.bench.load import PARTITIONS, Load, Shape, shape_of
from tokenmill.bench.passthrough import Job, PassThrough
from tokenmill.bench.processes import processor_seconds
from tokenmill.errors import FatalError
from tokenmill.servers import KafkaServer, RedisServer
from tokenmill.servers.process import Server
from tokenmill.servers.worker import Settings, WorkerProcess

COMMIT_INTERVAL_MS = 100
"""The service's default, for both sides."""

WARM_UP = 0.1
"""Share of the records before the clock starts."""

POLL_S = 0.05
"""Between two looks at the committed offsets: small against a run of seconds."""

RUN_DEADLINE_S = 300.0

SIDES = ("pass-through", "worker")


class Run(msgspec.Struct, frozen=True):
    """One run of one side."""

    records_per_s: float
    processor: float | None
    """Processor time of the process in seconds per second: at 1.0 its one event loop is the limit."""
    broker_processor: float | None


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
        asyncio.run(bench.prepare())
        runs: dict[str, list[Run]] = {side: [] for side in SIDES}
        for number in range(rounds):
            for side in SIDES:
                runs[side].append(asyncio.run(bench.run(side)))
                progress(f"{side}, run {number + 1} of {rounds}: {runs[side][-1].records_per_s:,.0f} records/s")
        return Pipeline(bench.load, bench.shape, PARTITIONS, COMMIT_INTERVAL_MS, runs)


class _Bench:
    """What all runs of one benchmark share."""

    def __init__(self, folder: Path, bootstrap: str, redis_url: str, broker: Server | None, load: Load) -> None:
        self.load = load
        self.shape = shape_of(load)
        self._folder = folder
        self._bootstrap = bootstrap
        self._redis_url = redis_url
        self._broker = broker
        # Names of their own: the Kafka may be one that is used for other things.
        prefix = f"tokenmill-bench-{uuid4().hex[:8]}"
        self._topics = {name: f"{prefix}-{name}" for name in ("tokens", "events", "tool-calls", "dlq", "target")}

    async def prepare(self) -> None:
        """Create the topics and put the load on one of them."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
        await admin.start()
        try:
            await create_topics(admin, list(self._topics.values()))
        finally:
            await admin.close()
        await preload(self._bootstrap, self._topics["tokens"], self.load)

    async def run(self, side: str) -> Run:
        """Start one side, wait until it has done the first tenth, and time the rest."""
        group = f"bench-{uuid4().hex[:8]}"
        admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
        await admin.start()
        try:
            with self._process(side, group) as process:
                async with asyncio.timeout(RUN_DEADLINE_S):
                    return await self._timed(admin, group, process)
        except TimeoutError as late:
            raise FatalError(f"the {side} did not get through the load within {RUN_DEADLINE_S:.0f} s") from late
        finally:
            await admin.close()

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
