"""An engine of the test's own process, on real Kafka, that the test turns step by step."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.support.stage import Stage
from tokenmill.config import Config, Kafka, Redis, Worker
from tokenmill.kafka import started, stopped
from tokenmill.observe import Hooks, Numbers
from tokenmill.session import SessionSettings
from tokenmill.store import GuardedStore, MemoryStore, SnapshotStore
from tokenmill.worker.connect import make_consumer, make_producer
from tokenmill.worker.delivery import Parts
from tokenmill.worker.engine import Engine


class Recorder(Hooks):
    """Remembers what the worker told."""

    def __init__(self) -> None:
        self.restores: list[tuple[int, str, int]] = []
        self.commits: list[dict[tuple[str, int], int]] = []
        self.snapshots: list[tuple[int, int]] = []

    def restored(self, topic: str, partition: int, source: str, offset: int) -> None:  # noqa: ARG002 -- one topic
        self.restores.append((partition, source, offset))

    def committed(self, offsets: dict[tuple[str, int], int]) -> None:
        self.commits.append(offsets)

    def snapshot_written(self, topic: str, partition: int, offset: int) -> None:  # noqa: ARG002 -- one topic
        self.snapshots.append((partition, offset))


class Rig:
    """The engine and what it told."""

    def __init__(self, engine: Engine, hooks: Recorder, failures: list[Exception]) -> None:
        self.engine = engine
        self.hooks = hooks
        self.failures = failures

    async def turn(self) -> int:
        """Read and parse once, as the engine's own task does; answers how many records there were."""
        batch = await self.engine.read()
        for place, records in batch.items():
            self.engine.take(place, records)
        self.engine.balance()
        return sum(len(records) for records in batch.values())

    async def commit(self) -> None:
        """Commit once."""
        await self.engine.committer.tick(self.engine.lanes.values())


def configuration(stage: Stage, **worker: Any) -> Config:
    """That of the stage, with snapshots in memory."""
    return Config(
        kafka=Kafka(**stage.settings["kafka"]),
        topics=stage.topics,
        redis=Redis(url="memory://"),
        worker=Worker(**worker),
    )


@asynccontextmanager
async def rigged(stage: Stage, store: SnapshotStore | None = None, **worker: Any) -> AsyncIterator[Rig]:
    """An engine that has joined the group; its tasks are not started."""
    config = configuration(stage, **worker)
    hooks, failures = Recorder(), list[Exception]()
    producer = await started(lambda: make_producer(config.kafka), "start the producer", 20)
    engine = Engine(
        Parts(
            config=config,
            settings=SessionSettings.from_config(config),
            consumer=make_consumer(config.kafka),
            producer=producer,
            store=GuardedStore(store or MemoryStore(), deadline=5, failed=lambda _op, _: None),
            numbers=Numbers(),
            hooks=hooks,
            fail=failures.append,
        )
    )
    engine.subscribe()
    try:
        await started(lambda: engine.consumer, "join the group", 20)
        yield Rig(engine, hooks, failures)
    finally:
        engine.draining = True
        for lane in engine.lanes.values():
            lane.close()
        await stopped(engine.consumer)
        await engine.delivery.close()
