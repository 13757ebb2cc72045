"""Which partitions are ours: the group's callbacks, and every lane's way from assigned to live.

Rules (design 4.8; the callbacks are measured pitfalls of the client):

- While a revocation is handled the member still sends heartbeats, while an assignment is handled it does not. So what
  is in flight is finished on revocation, and an assignment only pauses, makes lanes and returns.
- Everything is revoked at every rebalance. State that is fully committed is parked, and used again if the partition
  comes back and the broker still has exactly that commit; anything else is restored.
- An exception in a callback would be swallowed by the client, so none leaves it.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable, Sequence
from functools import partial

from aiokafka import ConsumerRebalanceListener, TopicPartition

from tokenmill.errors import Unavailable
from tokenmill.garbage import gc_paused
from tokenmill.kafka.aiokafka_inside import generation_of, member_id_of
from tokenmill.kafka.calls import until_available
from tokenmill.kafka.group import still_a_member
from tokenmill.kafka.static_membership import StaticMembership
from tokenmill.kafka.topic_log import Extent
from tokenmill.partition import DISAGREES, Partition
from tokenmill.records import Output, Record
from tokenmill.store import Snapshot
from tokenmill.tasks import Tasks
from tokenmill.worker.delivery import Delivery
from tokenmill.worker.lane import Lane, Phase
from tokenmill.worker.lost_logs import LostLogNotices
from tokenmill.worker.moved import report_move, understand
from tokenmill.worker.parts import Parts
from tokenmill.worker.positions import BelievedExtents, Committed, commits
from tokenmill.worker.restore import Plan, rebuild, still_committed

log = logging.getLogger(__name__)

RESTORES = 8
"""Partitions restored side by side: enough to hide the round trips, few enough for the store's connections."""

REVOKE_S = 15.0
"""Most seconds for finishing what is in flight on revocation; the group's other members wait for it."""


class Ownership(ConsumerRebalanceListener):  # type: ignore[misc] # untyped base class
    """The lanes of this worker, by partition."""

    def __init__(self, parts: Parts, delivery: Delivery) -> None:
        kafka = parts.config.kafka
        self.lanes: dict[TopicPartition, Lane] = {}
        self.assignments = 0
        """Number of assignments by the group, empty ones included."""
        self.outside = True
        """Whether the next assignment is still to come, after a revocation or the start: nothing is begun."""
        self._parts = parts
        self._delivery = delivery
        self._static_membership = StaticMembership(kafka, parts.clock)
        self._revoke_seconds = min(kafka.rebalance_timeout_ms / 2000, REVOKE_S)
        self._patiently = partial(until_available, seconds=parts.config.worker.stall_timeout_s)
        self._clock = parts.clock
        self._extents = BelievedExtents(parts.consumer, parts.clock)
        self._lost_logs = LostLogNotices(parts.settings, parts.numbers)
        self._distrusted: set[TopicPartition] = set()
        self._parked: dict[TopicPartition, Lane] = {}
        self._plans: dict[TopicPartition, Plan] = {}
        self._restoring = Tasks()

    @property
    def settled(self) -> bool:
        """Whether the group has assigned partitions, and each is live or waits for its outputs."""
        return self.assignments > 0 and all(lane.phase in (Phase.LIVE, Phase.HELD) for lane in self.lanes.values())

    # Callbacks of the group

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:  # noqa: ARG002 -- always all
        """Finish what is in flight, commit, snapshot, park."""
        try:
            self._parts.hooks.revoked(len(self.lanes))
            await self.give_up(self._revoke_seconds)
        except Exception as problem:  # noqa: BLE001 -- the client would swallow it
            self._parts.fail(problem)

    async def give_up(self, seconds: float) -> None:
        """Flush and close all lanes; those that are fully committed are parked. None is restored meanwhile."""
        self.outside = True
        await self.stop_restoring()
        lanes = list(self.lanes.values())
        done = await self._delivery.committer.flush(lanes, seconds)
        for lane in lanes:
            self._close(lane)
        self._parked = {lane.topic_partition: lane for lane in done}
        self.lanes, self._plans = {}, {}

    async def stop_restoring(self) -> None:
        """Leave lanes that are not live yet as they are: nothing is opened for them any longer."""
        await self._restoring.close()

    def _close(self, lane: Lane) -> None:
        if lane.phase in (Phase.LIVE, Phase.FAILED):
            self._lost_logs.remember(lane.topic_partition, lane.partition)
        lane.close()

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Pause and return; a task does the rest, because no heartbeat is sent before this returns."""
        try:
            self._take(sorted(assigned))
        except Exception as problem:  # noqa: BLE001 -- the client would swallow it
            self._parts.fail(problem)

    def _take(self, assigned: Sequence[TopicPartition]) -> None:
        parts = self._parts
        parts.consumer.pause(*assigned)
        generation = generation_of(parts.consumer)
        self._static_membership.joined(member_id_of(parts.consumer), generation)
        self.lanes = {
            tp: self._delivery.make_lane(Partition(parts.settings, tp.topic, tp.partition)) for tp in assigned
        }
        self._parked = {tp: lane for tp, lane in self._parked.items() if tp in self.lanes}
        self._lost_logs.keep(self.lanes)
        parts.store.keep(self.lanes.keys())
        self.assignments += 1
        self.outside = False
        parts.numbers.add("tokenmill_rebalances_total")
        parts.hooks.assigned(len(assigned))
        partitions = [tp.partition for tp in assigned]
        log.info("generation %d: %d partitions", generation, len(assigned), extra={"partitions": partitions})
        held = parts.output_partitions.hold(self.lanes.values(), parts.consumer)
        self._begin({tp: lane for tp, lane in self.lanes.items() if tp not in held}, generation)

    def _owns(self, lane: Lane) -> bool:
        """Whether something may be begun for the lane."""
        return not self.outside and self.lanes.get(lane.topic_partition) is lane

    def let_go(self, lanes: dict[TopicPartition, Lane]) -> None:
        """Restore lanes that were held, those that are still ours."""
        ours = {tp: lane for tp, lane in lanes.items() if self._owns(lane)}
        for lane in ours.values():
            lane.phase = Phase.RESTORING
        self._begin(ours, generation_of(self._parts.consumer))

    def _begin(self, lanes: dict[TopicPartition, Lane], generation: int) -> None:
        for lane in lanes.values():
            lane.begun_at = self._clock()
        self._restoring.begin(self._restore_all(lanes, generation), "a restore")

    # From assigned to live

    async def _restore_all(self, lanes: dict[TopicPartition, Lane], generation: int) -> None:
        parts, consumer, partitions = self._parts, self._parts.consumer, list(lanes)
        try:
            # First keep the previous owner from committing, then ask what it committed: never the other way round.
            await self._patiently(lambda: self._take_over(list(lanes.values()), generation))
            committed = await self._patiently(lambda: commits(consumer, partitions))
            ends = await self._patiently(lambda: self._extents.of(partitions, committed))
            committed |= await self._patiently(lambda: understand(parts.config, parts.settings, committed, ends))
            places = asyncio.Semaphore(RESTORES)

            async def one(tp: TopicPartition) -> None:
                async with places:
                    lanes[tp].placed = True
                    await self._restore(lanes[tp], committed.get(tp), ends[tp])

            with gc_paused():
                async with asyncio.TaskGroup() as group:
                    for tp in partitions:
                        group.create_task(one(tp))
        except* Exception as problems:  # noqa: BLE001 -- whatever it is, these partitions would stay unread
            self._parts.fail(problems.exceptions[0])

    async def _take_over(self, lanes: Collection[Lane], generation: int) -> None:
        """Take over, asking the group before each try: what was ours may be another's since the last one."""
        await still_a_member(self._parts.consumer)
        await self._delivery.take_over(lanes, generation)

    async def begin_again(self, lanes: Iterable[Lane]) -> None:
        """Finish what these have read, whose next record the topic does not hold, and restore them again.

        A lane that is still being restored has yet to look at the topic itself: nothing is begun beside that.
        """
        reading = [lane for lane in lanes if self._owns(lane) and lane.phase in (Phase.LIVE, Phase.REPLAYING)]
        self._parts.consumer.pause(*(lane.topic_partition for lane in reading))
        for lane in reading:
            lane.ending = True
        await self._delivery.committer.flush(reading, self._revoke_seconds)
        for lane in reading:
            self.restore_again(lane)

    def restore_again(self, lane: Lane) -> None:
        """Restart from what is committed; while all lanes are given up, only close this one."""
        tp = lane.topic_partition
        if self.lanes.get(tp) is not lane:
            return
        self._close(lane)
        if not self.outside:
            self._parts.consumer.pause(tp)
            self.lanes[tp] = self._delivery.make_lane(Partition(self._parts.settings, tp.topic, tp.partition))
            self._begin({tp: self.lanes[tp]}, lane.snapshots.epoch)

    async def _restore(self, lane: Lane, committed: Committed | None, extent: Extent) -> None:
        """Use the parked state, else follow `plan`; then read from there."""
        tp = lane.topic_partition
        parked = self._parked.pop(tp, None)
        if parked is not None and still_committed(parked.committed, committed, extent):
            parked.snapshots.owned_again(lane.snapshots.epoch, lane.snapshots.due)
            lane.adopt(parked.partition, parked.snapshots)
            lane.committed = parked.committed
            self._go_live(lane, "memory", extent)
            return
        chosen = await self._rebuild(lane, committed, extent)
        if chosen.lost:
            self._parts.numbers.add("tokenmill_records_lost_total", by=chosen.lost)
            log.error("%s/%d: %d records were gone before they were processed", *tp, chosen.lost)
        lane.partition.begin_replay(chosen.mark, lossy=chosen.lossy, move=chosen.move)
        self._plans[tp] = chosen
        lane.phase = Phase.REPLAYING
        if chosen.start >= chosen.mark.offset:
            self.finish_replay(lane, extent)
        else:
            log.info("%s/%d: replaying %d to %d", *tp, chosen.start, chosen.mark.offset)
            self._read_from(lane, chosen.start)

    async def _rebuild(self, lane: Lane, committed: Committed | None, extent: Extent) -> Plan:
        """Make the partition as the store has it, or an empty one, at the offset where the replay starts."""
        topic, number = lane.topic_partition
        snapshot = await self._load(lane)
        found = await rebuild(self._parts.settings, (topic, number), committed, extent, snapshot)
        if found.refused:
            log.warning("%s/%d: the snapshot can't be used: %s", topic, number, found.refused)
        chosen = await self._lost_logs.consider(lane.topic_partition, committed, extent, found.plan, snapshot)
        lane.adopt(found.partition)
        if snapshot is not None and found.plan.source == "redis":
            lane.snapshots.restored(snapshot.head)
        return chosen

    async def _load(self, lane: Lane) -> Snapshot | None:
        tp, kept = lane.topic_partition, lane.snapshots
        try:
            snapshot = None if tp in self._distrusted else await self._parts.store.load(*tp)
            kept.head = snapshot.head if snapshot else await self._parts.store.head(*tp)
            kept.known = True
        except Unavailable as problem:
            log.warning("%s/%d: restored without a snapshot: %s", *lane.topic_partition, problem)
            return None
        return snapshot

    # Replay

    def replay(self, lane: Lane, records: Sequence[Record]) -> Sequence[Record]:
        """Read records below the committed offset again, silently; return those that are new."""
        until = self._plans[lane.topic_partition].mark.offset
        old = [record for record in records if record.offset < until]
        lane.partition.replay(old)
        self._parts.numbers.add("tokenmill_records_replayed_total", by=len(old))
        self._parts.hooks.replayed(lane.partition.topic, lane.partition.number, len(old))
        if lane.partition.offset >= until or len(old) < len(records):
            self.finish_replay(lane)
        return records[len(old) :]

    def reached(self, lane: Lane, position: int) -> None:
        """End the replay if the consumer's position is past its mark: records before that may be missing."""
        if position >= self._plans[lane.topic_partition].mark.offset:
            self.finish_replay(lane)

    def finish_replay(self, lane: Lane, extent: Extent | None = None) -> None:
        """The state is that of the committed offset: announce what was lost, compare, go live.

        `extent` is given where nothing had to be replayed, as where the topic no longer holds the next record.
        """
        chosen = self._plans.pop(lane.topic_partition)
        out: list[Output] = []
        end = lane.partition.end_replay(out, extent.first if extent else 0)
        report_move(self._parts.numbers, lane.topic_partition, chosen.mark.offset, end.moved)
        found = lane.partition.mark()
        if chosen.check and not end.agrees:
            self._parts.numbers.add("tokenmill_replay_mismatches_total")
            log.error("%s/%d: replay gave %r, committed was %r", *lane.topic_partition, found, chosen.mark)
            if chosen.source == "redis":
                log.error("%s/%d: the snapshot is discarded, all is read again", *lane.topic_partition)
                self._distrusted.add(lane.topic_partition)
                self.restore_again(lane)
                return
            lost = lane.partition.lose_open(out, DISAGREES)
            log.error("%s/%d: %d messages that it has open are announced as lost", *lane.topic_partition, lost)
        self._distrusted.discard(lane.topic_partition)
        if end.lost:
            log.error("%s/%d: %d messages are announced as lost: their state is gone", *lane.topic_partition, end.lost)
        if end.missing:
            log.error(
                "%s/%d: %d open messages could not be read again: those that continue are announced as lost",
                *(*lane.topic_partition, end.missing),
            )
        if chosen.check and chosen.mark == found:
            lane.committed = found
        self._go_live(lane, chosen.source, extent)
        if out := [*out, *self._lost_logs.said(lane.topic_partition)]:
            lane.publish(out, [])

    def _go_live(self, lane: Lane, source: str, extent: Extent | None) -> None:
        parts, tp = self._parts, lane.topic_partition
        lane.go_live()
        seconds = self._clock() - lane.begun_at
        parts.numbers.add("tokenmill_restores_total", source)
        parts.numbers.add("tokenmill_messages_restored_total", source, by=lane.partition.open_messages)
        parts.numbers.histograms["tokenmill_restore_seconds"].observe(seconds)
        parts.hooks.restored(tp.topic, tp.partition, source, lane.partition.offset)
        log.info("%s/%d: live at %d after %.3f s, from %s", *tp, lane.partition.offset, seconds, source)
        if extent is not None:  # nothing was replayed, so the consumer has to be told where to begin
            self._read_from(lane, max(lane.partition.offset, extent.first))

    def _read_from(self, lane: Lane, offset: int) -> None:
        lane.next_read = offset
        self._parts.consumer.seek(lane.topic_partition, offset)
        self._parts.consumer.resume(lane.topic_partition)
