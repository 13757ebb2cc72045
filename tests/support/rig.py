"""An engine of the test's own process, on real Kafka, that the test turns step by step."""

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import TopicPartition
from aiokafka.protocol.group import LeaveGroupRequest

from tests.support.stage import Chunk, Stage, until
from tokenmill.config import Config, Kafka, Redis, Worker
from tokenmill.kafka.calls import started, stopped
from tokenmill.kafka.clients import make_consumer, make_producer
from tokenmill.observe import Hooks, Numbers
from tokenmill.partition import PartitionSettings
from tokenmill.store import GuardedStore, MemoryStore, RedisStore, SnapshotStore
from tokenmill.worker.engine import Engine
from tokenmill.worker.lane import Lane
from tokenmill.worker.parts import Parts

SESSION_MS = 20_000
"""So long that a slow machine throws no rig out of the group. Rigs leave it when they end: no test waits for this."""


class Recorder(Hooks):
    """Remembers what the worker told."""

    def __init__(self) -> None:
        self.restores: list[tuple[int, str, int]] = []
        self.commits: list[dict[tuple[str, int], int]] = []
        self.snapshots: list[tuple[int, int]] = []
        self.replays: list[tuple[int, int]] = []
        self.revocations: list[int] = []

    def restored(self, topic: str, partition: int, source: str, offset: int) -> None:  # noqa: ARG002 -- one topic
        self.restores.append((partition, source, offset))

    def replayed(self, topic: str, partition: int, records: int) -> None:  # noqa: ARG002 -- one topic
        self.replays.append((partition, records))

    def revoked(self, partitions: int) -> None:
        self.revocations.append(partitions)

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

    def lane(self, number: int = 0) -> Lane:
        """That of a partition of the input."""
        return self.engine.lanes[TopicPartition(self.engine.config.topics.tokens, number)]

    async def live(self) -> None:
        """Wait until every partition is live, replays included."""

        async def ready() -> bool:
            await self.turn()
            return self.engine.ready

        await until(ready, "every partition is live")

    async def parsed(self, offset: int) -> None:
        """Read and parse partition 0 up to this offset."""

        async def reached() -> bool:
            if self.lane().partition.offset < offset:
                await self.turn()
            return self.lane().partition.offset >= offset

        await until(reached, f"offset {offset} is parsed")

    async def settled(self, offset: int) -> None:
        """Partition 0 is parsed up to this offset; its outputs are acknowledged, and committed with it."""
        await self.parsed(offset)
        await self.lane().drained()
        await self.commit()

    async def snapshot(self) -> None:
        """Write the state of partition 0 to the store, whenever its next snapshot is due."""
        snapshots = self.lane().snapshots
        snapshots.capture()
        await self.engine.writer.write(snapshots)

    async def forget(self) -> None:
        """The group forgets this member, which does not know it yet."""
        coordinator = self.engine.consumer._coordinator
        await coordinator._send_req(LeaveGroupRequest(coordinator.group_id, coordinator.member_id))

    async def evict(self) -> None:
        """The group takes this worker for dead and gives its partitions away; nobody tells its lanes."""
        await stopped(self.engine.consumer)


def configuration(stage: Stage, session_timeout_ms: int = SESSION_MS, **worker: Any) -> Config:
    """That of the stage, with snapshots in memory."""
    return Config(
        kafka=Kafka(**stage.settings["kafka"] | {"session_timeout_ms": session_timeout_ms}),
        topics=stage.topics,
        redis=Redis(url="memory://"),
        worker=Worker(**worker),
    )


def redis_of(stage: Stage) -> RedisStore:
    """A client of its own for the Redis of the stage."""
    redis = stage.settings["redis"]
    return RedisStore(redis["url"], group=stage.group, prefix=redis["key_prefix"], timeout=1)


async def said(stage: Stage, *chunks: Chunk | bytes) -> None:
    """Put records on partition 0, under one key and in this order."""
    for chunk in chunks:
        await stage.send("c", chunk, partition=0)


def words(message: str, *texts: str) -> list[Chunk]:
    """Chunks without numbers: one that is applied twice is not recognised as a repeat."""
    return [{"message_id": message, "delta": text} for text in texts]


@asynccontextmanager
async def rigged(
    stage: Stage,
    store: SnapshotStore | None = None,
    prepare: Callable[[Engine], None] = lambda _: None,
    **worker: Any,
) -> AsyncIterator[Rig]:
    """An engine that has joined the group; its tasks are not started. `prepare` comes before it joins."""
    config = configuration(stage, **worker)
    hooks, failures = Recorder(), list[Exception]()
    producer = await started(lambda: make_producer(config.kafka), "start the producer", 20)
    engine = Engine(
        Parts(
            config=config,
            settings=PartitionSettings.from_config(config),
            consumer=make_consumer(config.kafka),
            producer=producer,
            store=GuardedStore(store or MemoryStore(), deadline=5, failed=lambda _op, _: None),
            numbers=Numbers(),
            hooks=hooks,
            fail=failures.append,
        )
    )
    engine.subscribe()
    prepare(engine)
    try:
        await started(lambda: engine.consumer, "join the group", 20)
        yield Rig(engine, hooks, failures)
    finally:
        engine.draining = True
        await engine.ownership.stop_restoring()
        for lane in engine.lanes.values():
            lane.close()
        await stopped(engine.consumer)
        await engine.delivery.close()
        await engine.store.close()


async def sent_ago(stage: Stage, rig: Rig, age: float, **chunk: str) -> None:
    """Put a chunk on the input that is so many seconds old."""
    then = int((time.time() - age) * 1000)
    value = json.dumps(chunk).encode()
    await rig.engine.producer.send_and_wait(stage.topics.tokens, value, key=b"c", partition=0, timestamp_ms=then)


async def read_all(stage: Stage, rig: Rig) -> None:
    """Turn the rig until it has read what is on the first partition."""
    place = TopicPartition(stage.topics.tokens, 0)
    end = (await stage.ends())[0]

    async def read() -> bool:
        await rig.turn()
        return rig.engine.ready and rig.engine.position(place) >= end and rig.engine.caught_up(place)

    await until(read, "everything is read")
