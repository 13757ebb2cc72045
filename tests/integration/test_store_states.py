"""Whatever a restore finds in the store, the state is that of the commit, and other partitions do not wait for it."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import pytest
from aiokafka import TopicPartition
from aiokafka.structs import OffsetAndMetadata

from tests.support.rig import Rig, rigged
from tests.support.stage import Stage, until, without_repeats
from tokenmill.kafka.topics import create_topics
from tokenmill.partition import Mark
from tokenmill.partition.snapshot import SCHEMA, Meta
from tokenmill.store import MemoryStore, Snapshot
from tokenmill.worker.lane import Phase

pytestmark = pytest.mark.integration

OLD, NEW = 3, 5
"""Offsets of two snapshots; the second is where the worker ended."""


def _changed(snapshot: Snapshot, **meta: object) -> Snapshot:
    """The snapshot with something else in its meta."""
    said = msgspec.structs.replace(msgspec.msgpack.decode(snapshot.meta, type=Meta), **meta)
    return Snapshot(snapshot.head, msgspec.msgpack.encode(said), snapshot.fields)


class Found(NamedTuple):
    """What the next owner finds, and what it makes of it."""

    store: Callable[[Snapshot, Snapshot], Snapshot | None]
    """Of the older and the newer snapshot."""
    source: str
    replayed: int
    committed: int = NEW


FOUND = {
    "the newest": Found(lambda _, new: new, "redis", 0),
    "none": Found(lambda *_: None, "replay", NEW),
    "an unreadable one": Found(lambda _, new: Snapshot(new.head, b"\xff", new.fields), "replay", NEW),
    "unreadable fields": Found(lambda _, new: Snapshot(new.head, new.meta, {b"m": b"\xff"}), "replay", NEW),
    "one of another version": Found(lambda _, new: _changed(new, schema=SCHEMA + 1), "replay", NEW),
    "that of another partition": Found(lambda _, new: _changed(new, partition=1), "replay", NEW),
    "one behind the commit": Found(lambda old, _: old, "redis", NEW - OLD),
    "an old one that came back": Found(
        # As from a dump: the content is old, and the head is one that the writer after it has never seen.
        lambda old, _: Snapshot(msgspec.structs.replace(old.head, generation="dump"), old.meta, old.fields),
        "redis",
        NEW - OLD,
    ),
    "one ahead of the commit": Found(lambda _, new: new, "replay", OLD, committed=OLD),
}


async def _talk(stage: Stage, rig: Rig, first: int, until_offset: int) -> None:
    """Records of one message on partition 0, parsed and acknowledged."""
    await _restored(rig)
    for seq in range(first, until_offset):
        await stage.send("c", {"message_id": "m", "seq": seq, "delta": f"{seq} "}, partition=0)
    lane = rig.engine.lanes[_place(stage)]
    while lane.partition.offset < until_offset:
        await rig.turn()
    await lane.drained()


async def _restored(rig: Rig) -> None:
    async def live() -> bool:
        await rig.turn()
        return rig.engine.ready

    await until(live, "every partition is live")


def _place(stage: Stage, number: int = 0) -> TopicPartition:
    return TopicPartition(stage.topics.tokens, number)


@pytest.mark.parametrize("name", FOUND)
async def test_whatever_the_store_has_the_state_is_that_of_the_commit(stage: Stage, name: str) -> None:
    """It begins where it can, replays the rest, goes on; and the next snapshot is whole, whatever was there before."""
    found, store, marks, snapshots = FOUND[name], MemoryStore(), list[Mark](), list[Snapshot]()
    for first, last in ((0, OLD), (OLD, NEW)):
        async with rigged(stage, store) as rig:
            await _talk(stage, rig, first, last)
            await rig.engine.ownership.give_up(10)
            snapshots.append(store._snapshots[_place(stage)])
            marks.append(rig.engine.ownership._parked[_place(stage)].partition.mark())
    left = found.store(*snapshots)
    store._snapshots = {_place(stage): left} if left else {}

    async with rigged(stage, store) as rig:
        if found.committed < NEW:
            await until(lambda: rig.engine.consumer._coordinator.generation > 0, "it may commit")
            await _commit_back(rig, _place(stage), marks[0])
        await _restored(rig)
        source = [source for partition, source, _ in rig.hooks.restores if partition == 0][-1]
        numbers = rig.engine.numbers
        assert (source, numbers.value("tokenmill_records_replayed_total")) == (found.source, found.replayed)
        assert numbers.value("tokenmill_messages_restored_total", found.source) == 1
        assert numbers.value("tokenmill_replay_mismatches_total") == 0
        await stage.send("c", {"message_id": "m", "seq": NEW, "delta": "end", "end": True}, partition=0)
        lane = rig.engine.lanes[_place(stage)]
        while lane.partition.offset <= NEW:
            await rig.turn()
        await rig.engine.ownership.give_up(10)
        assert store._snapshots[_place(stage)].head.offset == NEW + 1
    expected = (await stage.expected())[stage.topics.events, 0]
    assert without_repeats((await stage.found())[stage.topics.events, 0]) == expected


async def _commit_back(rig: Rig, place: TopicPartition, mark: Mark) -> None:
    """The commit of the older snapshot is the group's, and the lanes begin with it."""
    await rig.engine.ownership.give_up(0)
    rig.hooks.restores.clear()
    await rig.engine.consumer.commit({place: OffsetAndMetadata(mark.offset, mark.encode())})
    rig.engine.ownership._parked = {}
    for name in ("tokenmill_records_replayed_total", "tokenmill_messages_restored_total"):
        rig.engine.numbers._counters[name].clear()
    rig.engine.ownership.on_partitions_assigned([place])


class SlowStore(MemoryStore):
    """A store that does not answer for partition 0 before it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = asyncio.Event()

    async def load(self, topic: str, partition: int) -> Snapshot | None:
        """As its model, in its time."""
        if partition == 0:
            await self.may_answer.wait()
        return await super().load(topic, partition)


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
async def test_other_partitions_work_while_one_is_restored(stage: Stage, delivery: str) -> None:
    """First the store is slow, then the replay: partition 1 parses, publishes and commits meanwhile."""
    async with rigged(stage, delivery=delivery) as rig:
        await _restored(rig)
        await _send_and_read(stage, rig, 0, 0)
        await _send_and_read(stage, rig, 1, 0)
        await rig.engine.ownership.give_up(10)

    store = SlowStore()
    async with rigged(stage, store, delivery=delivery) as rig:
        await until(lambda: _phase(stage, rig, 1) is not Phase.RESTORING, "partition 1 is on its way")
        await _send_and_read(stage, rig, 1, 1)
        assert _phase(stage, rig, 0) is Phase.RESTORING
        await _committed(stage, rig, 2)

        store.may_answer.set()
        await until(lambda: _phase(stage, rig, 0) is Phase.REPLAYING, "partition 0 has no snapshot")
        rig.engine.consumer.pause(_place(stage))  # what is to be replayed takes its time
        await _send_and_read(stage, rig, 1, 2)
        assert _phase(stage, rig, 0) is Phase.REPLAYING
        await _committed(stage, rig, 3)

        rig.engine.consumer.resume(_place(stage))
        await _restored(rig)
        await _send_and_read(stage, rig, 0, 1)
        assert rig.failures == []
        await rig.engine.ownership.give_up(10)
    assert await stage.found() == await stage.expected()


def _phase(stage: Stage, rig: Rig, number: int) -> Phase | None:
    lane = rig.engine.lanes.get(_place(stage, number))
    return lane.phase if lane else None


async def _send_and_read(stage: Stage, rig: Rig, number: int, seq: int) -> None:
    """One more record of a partition's message, and its outputs."""
    await stage.send(f"c{number}", {"message_id": "m", "seq": seq, "delta": "x"}, partition=number)

    async def read() -> bool:
        await rig.turn()
        lane = rig.engine.lanes[_place(stage, number)]
        return lane.phase is Phase.LIVE and lane.partition.offset > seq

    await until(read, f"partition {number} goes on")
    await rig.commit()


async def _committed(stage: Stage, rig: Rig, offset: int) -> None:
    """All of partition 1 is acknowledged and committed."""
    await rig.engine.lanes[_place(stage, 1)].drained()
    await rig.commit()
    await stage.committed_at(offset, 1)


async def test_partitions_that_are_added_are_read_from_their_first_record(stage: Stage) -> None:
    """Without a restart; the others keep their state. A message whose key has moved is an orphan there."""
    await stage.send("c", {"message_id": "m", "seq": 0, "delta": "x"}, partition=0)
    async with rigged(stage) as rig:
        await _restored(rig)
        kept = rig.engine.lanes[_place(stage)].partition
        while kept.open_messages < 1:
            await rig.turn()
        await create_topics(rig.engine.config, partitions=3)
        stage.partitions = 3
        await until(lambda: _appears(stage, rig), "the client knows the new partition")
        producer = rig.engine.producer
        await until(producer.client.force_metadata_update, "so does the producer")
        for value in (
            b'{"message_id": "m", "seq": 1, "delta": "y"}',
            b'{"message_id": "n", "delta": "z", "end": true}',
        ):
            await producer.send_and_wait(stage.topics.tokens, value, key=b"c", partition=2)

        async def read() -> bool:
            await rig.turn()
            lane = lanes.get(_place(stage, 2)) if (lanes := rig.engine.lanes) else None
            return lane is not None and lane.partition.offset == 2

        await until(read, "the new partition is read")
        await _restored(rig)
        assert rig.engine.lanes[_place(stage)].partition is kept
        assert ("memory", 1) in {(source, offset) for partition, source, offset in rig.hooks.restores if partition == 0}
        assert (2, "empty", 0) in rig.hooks.restores
        await rig.engine.ownership.give_up(10)
    assert await stage.found() == await stage.expected()
    [letter] = await stage.read(stage.topics.dlq)
    assert (letter.partition, dict(letter.headers)["tm-error-code"]) == (2, b"orphan")


async def _appears(stage: Stage, rig: Rig) -> bool:
    """As the client finds out by itself within `METADATA_MS`."""
    await rig.engine.consumer._client.force_metadata_update()
    await rig.turn()
    return len(rig.engine.consumer.partitions_for_topic(stage.topics.tokens) or ()) == 3
