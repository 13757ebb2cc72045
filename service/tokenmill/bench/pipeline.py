"""Benchmark of a whole worker on a real Kafka, beside a pass-through over the same input topic.

Both are child processes with one event loop, read the same preloaded topic from its beginning in a fresh consumer
group, and commit at the same interval. They take turns; their medians are compared.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from statistics import median

import msgspec
from aiokafka.admin import AIOKafkaAdminClient

from tokenmill.bench.kafka import create_topics, delete_topics, preload
from tokenmill.bench.latency import Latency, latency_of
from tokenmill.bench.load import PARTITIONS, Load, Shape, shape_of
from tokenmill.bench.stand import COMMIT_INTERVAL_MS, PASS_THROUGH, SIDES, WORKER, Stand
from tokenmill.bench.throughput import Run, run_side
from tokenmill.kafka import deadline
from tokenmill.parser import Options
from tokenmill.servers import KafkaServer, RedisServer
from tokenmill.servers.process import Server
from tokenmill.session import SessionSettings

HALF_LOAD = 0.5
"""Of the worker's own rate: at which the latency is measured."""

Progress = Callable[[str], None]


class Pipeline(msgspec.Struct, frozen=True):
    """The whole benchmark."""

    load: Load
    shape: Shape
    partitions: int
    commit_interval_ms: int
    runs: dict[str, list[Run]]
    latencies: dict[str, list[Latency]]
    """At half of the worker's rate; empty if they were not asked for."""

    def rate(self, side: str) -> float:
        """Median of a side's rates, in records a second."""
        return rate_of(self.runs[side])

    def processor_us(self, side: str) -> float | None:
        """Median of a side's processor times for one record, in microseconds."""
        known = [run.processor_us for run in self.runs[side] if run.processor_us is not None]
        return median(known) if known else None

    @property
    def ratio(self) -> float:
        """What part of the pass-through's rate the worker reaches."""
        return self.rate(WORKER) / self.rate(PASS_THROUGH)


def rate_of(runs: list[Run]) -> float:
    """Median, in records a second."""
    return median(run.records_per_s for run in runs)


def run_pipeline(*, bootstrap: str | None, records: int, rounds: int, latency: bool, progress: Progress) -> Pipeline:
    """Measure on the Kafka at `bootstrap`, or on one started for it. Raises `FatalError` if a run gets stuck."""
    shape = shape_of(SessionSettings(defaults=Options(format="hermes")))
    with tempfile.TemporaryDirectory(prefix="tokenmill-bench-") as scratch, ExitStack() as servers:
        folder = Path(scratch)
        broker = None
        if bootstrap is None:
            progress("starting Kafka")
            broker = servers.enter_context(KafkaServer(folder / "kafka", heap="1g"))
            bootstrap = broker.bootstrap
        redis = servers.enter_context(RedisServer(folder / "redis"))

        def stand() -> Stand:
            return Stand(folder, bootstrap, redis.url, shape)

        load = Load(records)
        runs = asyncio.run(_throughput(stand(), load, rounds, broker, progress))
        half = rate_of(runs[WORKER]) * HALF_LOAD
        latencies = asyncio.run(_latencies(stand, half, rounds, progress)) if latency else {}
    return Pipeline(load, shape, PARTITIONS, COMMIT_INTERVAL_MS, runs, latencies)


async def _throughput(
    stand: Stand, load: Load, rounds: int, broker: Server | None, progress: Progress
) -> dict[str, list[Run]]:
    async with _topics(stand) as admin:
        progress(f"putting {load.records:,} records on the topic")
        await preload(stand.bootstrap, stand.tokens, load)
        runs: dict[str, list[Run]] = {side: [] for side in SIDES}
        for number in range(rounds):
            for side in SIDES:
                runs[side].append(await run_side(stand, side, load, admin, broker))
                progress(f"{side}, run {number + 1} of {rounds}: {runs[side][-1].records_per_s:,.0f} records/s")
        return runs


async def _latencies(
    new_stand: Callable[[], Stand], rate: float, rounds: int, progress: Progress
) -> dict[str, list[Latency]]:
    latencies: dict[str, list[Latency]] = {side: [] for side in SIDES}
    for number in range(rounds):
        for side in SIDES:
            stand = new_stand()  # each run on topics of its own: a fresh group would first read what is there
            async with _topics(stand):
                latencies[side].append(await latency_of(stand, side, rate))
            progress(f"{side}, latency {number + 1} of {rounds}: p99 {latencies[side][-1].p99_ms:.0f} ms")
    return latencies


@asynccontextmanager
async def _topics(stand: Stand) -> AsyncIterator[AIOKafkaAdminClient]:
    """The stand's topics, from their making to their removal."""
    admin = AIOKafkaAdminClient(bootstrap_servers=stand.bootstrap)
    try:
        await deadline(admin.start(), f"connect to {stand.bootstrap}")
        await create_topics(admin, stand.topics)
        try:
            yield admin
        finally:
            await delete_topics(admin, stand.topics)
    finally:
        await admin.close()
