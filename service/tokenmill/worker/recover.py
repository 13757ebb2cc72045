"""What a restore of the partitions would do now, found out by doing it without publishing or committing.

Everything is only read: the group's commits without joining the group, the snapshots, the topic. The decision, the
partition and the replay are those of a worker (`restore.rebuild`, `Partition`).
"""

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from tokenmill.config import Config
from tokenmill.errors import FatalError, Unavailable
from tokenmill.kafka.aiokafka_inside import network
from tokenmill.kafka.calls import NO_COORDINATOR, deadline, running, until_available
from tokenmill.kafka.clients import make_admin, make_reader
from tokenmill.kafka.to_end import ToEnd
from tokenmill.kafka.topic_log import Extent, extents
from tokenmill.kafka.topics import (
    LONGEST_BATCH,
    Progress,
    longest_batches,
    output_topics,
    partition_counts,
    settings_of,
)
from tokenmill.partition import Mark, Partition, PartitionSettings
from tokenmill.records import Output
from tokenmill.store import Snapshot, SnapshotStore
from tokenmill.worker.moved import sentence, understand
from tokenmill.worker.positions import Committed
from tokenmill.worker.restore import Plan, rebuild
from tokenmill.worker.sizes import fitting_limits

START_S = 30.0

POLL_MS = 500

COORDINATOR_S = 0.2
"""Seconds between two requests while the group has no coordinator yet."""


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """What a restore of one partition would do."""

    partition: int
    committed: int | None
    """The group's offset. None: it never committed; the partition would be read from its first record."""
    low_water: int | None
    """Where a replay without a snapshot begins. None: the offset was not committed by a worker."""
    same_settings: bool
    """Whether the commit was made under settings that give the same events."""
    first: int
    """Offset of the first record that the topic holds."""
    end: int
    snapshot: int | None
    """Offset of the store's snapshot. None: it has none that can be used."""
    refused: str
    """Why a restore would not use the snapshot, or could not read it; empty if it would, or there is none."""
    source: str
    """One of `observe.RESTORE_SOURCES`."""
    start: int
    """The first record to read again."""
    replayed: int
    """Records that were read again."""
    open_messages: int
    """Messages that would be open afterwards, each choice counted; lost ones included."""
    lost_messages: int
    """Messages that would be announced as lost, immediately or when they continue."""
    lost_records: int
    """Records that the topic dropped before they were processed."""
    agrees: bool
    """Whether the state is the one that the commit describes."""
    moved: str = ""
    """What becomes of an offset that something other than a worker set; empty if a worker committed it."""

    @property
    def sound(self) -> bool:
        """Whether nothing would be lost."""
        return self.agrees and not self.lost_messages and not self.lost_records


async def recoveries(
    config: Config, store: SnapshotStore | None, number: int | None = None, progress: Progress = lambda *_: None
) -> list[Recovery]:
    """Return those of all partitions of the input, or of one. `store` is None where snapshots die with their worker.

    `progress` is called for each partition, with how many are done, and for what is replayed, with offsets.
    Raises `Unavailable` if Kafka does not answer, `FatalError` if there is no such partition.
    """
    topic = config.topics.tokens
    async with make_admin(config.kafka) as admin:
        counts = await partition_counts(admin, [topic, *output_topics(config)])
        count = counts.pop(topic, 0)
        reported = await settings_of(admin, dict.fromkeys(counts, (LONGEST_BATCH,))) if counts else {}
        settings = fitting_limits(PartitionSettings.from_config(config), longest_batches(reported))
        committed = await _committed(admin, config.kafka.group_id)
    numbers = range(count) if number is None else [number]
    if not count or any(each >= count for each in numbers):
        raise FatalError(f"the topic {topic} has {count} partitions; there is no partition {number or 0}")
    async with running(lambda: make_reader(config.kafka), "connect", START_S) as consumer:
        trial, found = _Trial(config, settings, consumer, store, progress), list[Recovery]()
        for tp in (TopicPartition(topic, each) for each in numbers):
            progress(f"restoring partition {tp.partition}", len(found), len(numbers))
            found.append(await trial.of(tp, committed.get(tp)))
        return found


async def _offsets(admin: AIOKafkaAdminClient, group: str) -> dict[TopicPartition, Any]:
    """Return what the group committed; a cluster with its first group takes a moment to have a coordinator."""
    while True:
        try:
            return dict(await admin.list_consumer_group_offsets(group))
        except NO_COORDINATOR:
            await asyncio.sleep(COORDINATOR_S)


async def _committed(admin: AIOKafkaAdminClient, group: str) -> dict[TopicPartition, Committed]:
    found = await deadline(_offsets(admin, group), "committed offsets")
    return {tp: Committed(at.offset, Mark.decode(at.metadata)) for tp, at in found.items() if at.offset >= 0}


class _Trial:
    """Restores partitions one after the other, and forgets them."""

    def __init__(
        self,
        config: Config,
        settings: PartitionSettings,
        consumer: AIOKafkaConsumer,
        store: SnapshotStore | None,
        progress: Progress,
    ) -> None:
        self._config = config
        self._settings = settings
        self._consumer = consumer
        self._store = store
        self._progress = progress

    async def of(self, tp: TopicPartition, committed: Committed | None) -> Recovery:
        self._consumer.assign([tp])
        client = network(self._consumer)
        mark = committed.mark if committed else None
        found = await until_available(lambda: extents(client, tp.topic, {tp.partition: mark}), START_S)
        extent = found[tp.partition]
        if committed is not None:
            understood = await understand(self._config, self._settings, {tp: committed}, {tp: extent})
            committed = understood.get(tp, committed)
        snapshot, problem = await self._load(tp) if committed else (None, "")
        rebuilt = await rebuild(self._settings, (tp.topic, tp.partition), committed, extent, snapshot)
        chosen, partition = rebuilt.plan, rebuilt.partition
        replayed = await self._replay(tp, partition, chosen, extent)
        out: list[Output] = []
        ending = partition.end_replay(out, extent.first)
        return Recovery(
            partition=tp.partition,
            committed=committed.offset if committed else None,
            low_water=mark.low_water if mark else None,
            same_settings=mark is None or mark.fingerprint == self._settings.fingerprint(),
            first=extent.first,
            end=extent.end,
            snapshot=snapshot.head.offset if snapshot else None,
            refused=problem or rebuilt.refused,
            source=chosen.source,
            start=chosen.start,
            replayed=replayed,
            open_messages=partition.open_messages,
            lost_messages=ending.lost + ending.missing,
            lost_records=chosen.lost,
            agrees=ending.agrees or not chosen.check,
            moved=sentence(ending.moved, chosen.mark.offset) if ending.moved else "",
        )

    async def _load(self, tp: TopicPartition) -> tuple[Snapshot | None, str]:
        if self._store is None:
            return None, ""
        try:
            snapshot = await self._store.load(tp.topic, tp.partition)
            head = snapshot.head if snapshot else await self._store.head(tp.topic, tp.partition)
        except Unavailable as problem:
            return None, str(problem)
        return snapshot, "" if snapshot or head is None else f"the one of offset {head.offset} is not complete"

    async def _replay(self, tp: TopicPartition, partition: Partition, chosen: Plan, extent: Extent) -> int:
        """Read the records below the mark again; return how many there were."""
        partition.begin_replay(chosen.mark, lossy=chosen.lossy, move=chosen.move)
        until = min(chosen.mark.offset, extent.end)
        self._consumer.seek(tp, chosen.start)
        count, end = 0, ToEnd(self._consumer, {tp: until} if chosen.start < until else {}, "read")
        while not await end.reached():
            batches: dict[Any, list[Any]] = await deadline(self._consumer.getmany(tp, timeout_ms=POLL_MS), "read")
            old = [record for record in batches.get(tp, ()) if record.offset < until]
            partition.replay(old)
            count += len(old)
            if old:
                done, of = old[-1].offset + 1 - chosen.start, until - chosen.start
                self._progress(f"replaying partition {tp.partition}", done, of)
            await asyncio.sleep(0)
        return count


def sentences(recovery: Recovery) -> Iterable[str]:
    """Describe a recovery for people, one fact per line."""
    yield f"partition {recovery.partition}: the topic holds {recovery.first} to {recovery.end}"
    if recovery.committed is None:
        yield "  commit:   none; it would be read from its first record"
    else:
        low_water = "not by a worker" if recovery.low_water is None else f"low-water mark {recovery.low_water}"
        settings = "" if recovery.same_settings else ", under other settings"
        yield f"  commit:   {recovery.committed}, {low_water}{settings}"
    if recovery.moved:
        yield f"  moved:    {recovery.moved}"
    held = "none" if recovery.snapshot is None else f"at {recovery.snapshot}"
    refused = f", not used: {recovery.refused}" if recovery.refused else ""
    yield f"  snapshot: {held}{refused}"
    yield f"  restore:  from {recovery.source}, {recovery.replayed} records read again from {recovery.start} on"
    agrees = "as committed" if recovery.agrees else "NOT as committed"
    yield f"  state:    {recovery.open_messages} open messages, {agrees}"
    yield f"  lost:     {recovery.lost_messages} messages, {recovery.lost_records} records"
