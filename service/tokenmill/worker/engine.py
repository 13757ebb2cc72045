"""The worker's cycle, in numbered steps. The order of 4, 6 and 7 is what the promises rest on (design 4.3).

    1 read         `Engine.read`            records of all owned partitions, from the consumer
    2 parse        `Lane.process`           `Partition.process`: outputs are a function of state and record (P3)
    3 publish      `Lane.publish`           outputs go into record batches, several on their way
    4 acknowledge  `Lane.settle`            the broker has them, all replicas included
    5 mark         `Lane.mark`              what a commit of this offset would hold
    6 commit       `Committer.commit`       offset and mark, only after acknowledged outputs
    7 snapshot     `SnapshotWriter.write`   only after a commit

Reading continues while 3 to 7 are under way for what was read before. SIGKILL between any two steps repeats outputs,
byte for byte, and loses none (P4). The `Delivery` decides how 3 to 6 are done: exactly-once makes them one transaction.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Iterator, Mapping, Sequence

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, NoOffsetForPartitionError, OffsetOutOfRangeError

from tokenmill.errors import CLOSED, FatalError, Unavailable
from tokenmill.kafka.aiokafka_inside import give_plain_records, position, positions
from tokenmill.kafka.calls import stopped
from tokenmill.kafka.leader_epochs import LeaderEpochs
from tokenmill.limits import KIB, MIB
from tokenmill.records import Record
from tokenmill.tasks import cancelled
from tokenmill.worker.delivery import STOP_S, AtLeastOnce, Delivery
from tokenmill.worker.exactly_once import ExactlyOnce
from tokenmill.worker.lane import Lane, Phase
from tokenmill.worker.ownership import Ownership
from tokenmill.worker.parts import Parts
from tokenmill.worker.snapshots import SnapshotWriter

log = logging.getLogger(__name__)

POLL_MS = 200
"""Milliseconds that a read waits when there is nothing."""

SLICE_RECORDS = 1_000
"""Records parsed in one go: some milliseconds, then the sender and the heartbeat have their turn."""

PIECE_BYTES = 64 * KIB
"""Bytes of records between two looks at the clock: most take a millisecond. Openings with long lists of tools take a
tenth of a second, and hundreds of these may be read at once, as they compress to almost nothing."""

TURN_S, PAUSE_S = 0.1, 0.01
"""Seconds of parsing, and then for all other tasks: a reconnection, or a commit, takes several turns of the loop."""

LANE_UNACKED_BYTES = 8 * MIB
"""Bytes of output of one partition that may wait for the broker; above it the partition pauses until half is left."""

READ_ERROR_PAUSE_S = 0.5
"""Seconds until the next read after one that failed: the client raises errors of the group without a pause."""

READING = (Phase.LIVE, Phase.REPLAYING)
"""Phases in which a lane is given what is read."""

DELIVERIES = {"at-least-once": AtLeastOnce, "exactly-once": ExactlyOnce}
"""Kinds of delivery, by `worker.delivery`."""


class Engine:
    """One worker's part of the group: reads, parses, publishes, commits."""

    def __init__(self, parts: Parts) -> None:
        self.config = config = parts.config
        self.consumer = parts.consumer
        self.producer = parts.producer
        self.store = parts.store
        self.numbers = parts.numbers
        self.output_partitions = parts.output_partitions
        self.clock = parts.clock
        self.draining = False
        self.writer = SnapshotWriter(
            parts.store, config.worker.snapshot_interval_s, parts.numbers, parts.hooks, clock=parts.clock
        )
        self.delivery: Delivery = DELIVERIES[config.worker.delivery](parts, self.writer)
        self.committer = self.delivery.committer
        self.ownership = Ownership(parts, self.delivery)
        self._parts = parts
        self._leader_epochs = LeaderEpochs()
        self._untaken: dict[TopicPartition, int] = {}
        """Offset of the next record of each partition, while what was read is taken: the consumer is ahead by then."""
        self._failing_since: float | None = None
        self._reading: asyncio.Task[None] | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def lanes(self) -> dict[TopicPartition, Lane]:
        """The owned partitions."""
        return self.ownership.lanes

    @property
    def ready(self) -> bool:
        """Whether this worker does its part: in the group, everything restored, not draining."""
        return self.ownership.settled and not self.draining

    def subscribe(self) -> None:
        """Subscribe to the input; must be done before the consumer starts."""
        self._leader_epochs.listen(self.consumer)
        self.consumer.subscribe([self.config.topics.tokens], listener=self.ownership)

    # Running

    def start(self) -> None:
        """Start the tasks; the consumer is started already."""
        self._reading = self.watched(self._read_on(), "read")
        self._tasks = [self._reading]
        self.add_task(self._commit(), "commit")
        self.add_task(self.writer.run(), "snapshots")
        if self._parts.sessions is not None:
            self.add_task(self._parts.sessions.run(), "sessions")

    def add_task(self, work: Awaitable[None], name: str) -> None:
        """Start one more task that must not end before the engine does."""
        self._tasks.append(self.watched(work, name))

    def watched(self, work: Awaitable[None], name: str) -> "asyncio.Task[None]":
        """Start a task that must not end: returning, being cancelled or raising ends the worker, loudly."""

        async def run() -> None:
            try:
                await work
            except asyncio.CancelledError:
                if not self.draining:
                    self._parts.fail(FatalError(f"task {name!r} was cancelled"))
                raise
            except Exception as problem:  # noqa: BLE001 -- whatever it is, nobody would do this work now
                self._parts.fail(problem)
            else:
                self._parts.fail(FatalError(f"task {name!r} returned"))

        return asyncio.create_task(run(), name=name)

    async def _read_on(self) -> None:
        while not self.draining:
            await self._take_all(await self.read())
            self.balance()
            await asyncio.sleep(0)  # a read that finds data does not wait, and other tasks need a turn
        await asyncio.Event().wait()

    async def _take_all(self, batch: Mapping[TopicPartition, Sequence[Record]]) -> None:
        """Take what was read, with pauses. What is placed elsewhere or given up meanwhile is read again.

        To take more of what is being given up would be to park a state that is ahead of its commit.
        """
        places = {tp: self._place(tp) for tp in batch}
        self._untaken = {tp: records[0].offset for tp, records in batch.items()}
        began = time.monotonic()
        for tp, records in _pieces(batch):
            if time.monotonic() - began > TURN_S:
                await asyncio.sleep(PAUSE_S)
                began = time.monotonic()
            if self._place(tp) == places[tp] and not self.ownership.outside:
                self.take(tp, records)
                self._untaken[tp] = records[-1].offset + 1
            else:
                self._untaken.pop(tp, None)
        self._untaken = {}

    def _place(self, tp: TopicPartition) -> tuple[Lane | None, int]:
        return self.lanes.get(tp), position(self.consumer, tp)

    async def read(self) -> dict[TopicPartition, Sequence[Record]]:
        """Step 1. The client raises here when something is wrong."""
        give_plain_records(self.consumer)
        before = positions(self.consumer)
        try:
            batch: dict[TopicPartition, Sequence[Record]] = await self.consumer.getmany(
                timeout_ms=POLL_MS, max_records=SLICE_RECORDS
            )
        except OffsetOutOfRangeError as problem:
            for tp in problem.args[0]:
                log.warning("%s/%d: the topic no longer holds the next record", *tp)
            await self.ownership.begin_again([self.lanes[tp] for tp in problem.args[0] if tp in self.lanes])
        except NoOffsetForPartitionError:
            log.debug("a partition without a commit; its lane decides where to begin")
        except KafkaError as problem:
            self._read_again(before)
            await self._read_failed(problem)
        except RuntimeError as problem:  # of a heartbeat: the client joins again, or the watch notices that it does not
            if CLOSED not in str(problem):
                raise
            await self._read_failed(problem)
        else:
            self._failing_since = None
            return batch
        return {}

    def _read_again(self, before: Mapping[TopicPartition, int | None]) -> None:
        """Go back to the records that a failed read did not return.

        The client reads one partition after the other. At a broken batch it raises and drops the records of those
        before, whose positions are past them already. One that has not moved may be past transaction markers.
        """
        for tp, now in positions(self.consumer).items():
            lane = self.lanes.get(tp)
            if lane is not None and lane.phase in READING and now != before.get(tp):
                self.consumer.seek(tp, lane.next_read)

    async def _read_failed(self, problem: Exception) -> None:
        now = self.clock()
        self._failing_since = self._failing_since or now
        if now - self._failing_since > self.config.worker.stall_timeout_s:
            raise FatalError(f"reading has failed for {now - self._failing_since:.0f} s: {problem!r}") from problem
        log.warning("reading: %r", problem)
        await asyncio.sleep(READ_ERROR_PAUSE_S)

    def take(self, tp: TopicPartition, records: Sequence[Record]) -> None:
        """Steps 2 and 3 for one partition, or its replay."""
        lane = self.lanes.get(tp)
        if lane is None or lane.ending:
            return
        if records:
            lane.next_read = records[-1].offset + 1
            lane.partition.epoch = max(lane.partition.epoch, self._leader_epochs.at(tp, records[-1].offset))
        if lane.phase is Phase.REPLAYING:
            records = self.ownership.replay(lane, records)
        if records and lane.phase is Phase.LIVE:
            lane.process(records)
            self.numbers.add("tokenmill_records_consumed_total", by=len(records))

    def balance(self) -> None:
        """Pause partitions whose outputs pile up, resume those that have caught up; restore those that failed, and end
        replays that met no new record.
        """
        for tp, lane in list(self.lanes.items()):
            if lane.ending:
                continue
            if lane.phase is Phase.REPLAYING:
                self.ownership.reached(lane, self.position(tp))
            elif lane.phase is Phase.FAILED:
                self.ownership.restore_again(lane)
            elif lane.phase is Phase.LIVE and lane.in_flight | lane.paused:
                if not lane.paused and lane.unacked_bytes > LANE_UNACKED_BYTES:
                    self.pause(lane)
                elif lane.paused and lane.unacked_bytes < LANE_UNACKED_BYTES // 2 and lane.inbox.acked >= lane.hold:
                    self.consumer.resume(tp)
                    lane.paused = False

    def pause(self, lane: Lane) -> None:
        """Take nothing more from this partition until `balance` resumes it."""
        self.consumer.pause(lane.topic_partition)
        lane.paused = True

    async def _commit(self) -> None:
        await self.committer.run(lambda: list(self.lanes.values()))

    # What the client reports of a partition

    def position(self, tp: TopicPartition) -> int:
        """Return the offset after what was taken, past transaction markers too; -1 while it is not known."""
        return self._untaken.get(tp, position(self.consumer, tp))

    def end(self, tp: TopicPartition) -> int | None:
        """Return the offset after the last record that can be read, as of the last fetch."""
        if tp not in self.consumer.assignment():
            return None
        stable: int | None = self.consumer.last_stable_offset(tp)
        high: int | None = self.consumer.highwater(tp)
        return stable if stable is not None and stable >= 0 else high

    def uncommitted(self, tp: TopicPartition) -> int | None:
        """Return how many records after `end` wait for the end of a transaction; None while that is not known."""
        high, end = self.consumer.highwater(tp) if tp in self.consumer.assignment() else None, self.end(tp)
        return None if high is None or end is None else max(0, high - end)

    def caught_up(self, tp: TopicPartition) -> bool:
        """Whether everything that can be read is read."""
        end = self.end(tp)
        return end is not None and self.position(tp) >= end

    # Ending

    async def drain(self, seconds: float) -> None:
        """Stop reading, finish, commit and snapshot what is in flight, leave.

        Bounded in time, except for what the Kafka client does.
        """
        self.draining = True
        if self._reading is not None:
            await cancelled(self._reading)  # what is read and not parsed is not committed either
        try:
            await self.ownership.give_up(seconds)
        finally:
            await self.close()

    async def close(self) -> None:
        """Close everything, each within its own deadline."""
        self.draining = True
        await cancelled(*self._tasks, seconds=STOP_S)
        await self.ownership.stop_restoring()
        await stopped(self.consumer, STOP_S)
        await self.delivery.close()
        for store in (self._parts.sessions, self.store):
            try:
                if store is not None:
                    async with asyncio.timeout(STOP_S):
                        await store.close()
            except (Unavailable, TimeoutError, OSError) as problem:
                log.info("a store did not close cleanly: %r", problem)


def _pieces(
    batch: Mapping[TopicPartition, Sequence[Record]],
) -> Iterator[tuple[TopicPartition, Sequence[Record]]]:
    """Yield what was read in pieces of about `PIECE_BYTES`, each of one partition."""
    for tp, records in batch.items():
        begin = size = 0
        for end, record in enumerate(records, 1):
            size += len(record.value or b"")
            if record.headers:
                size += sum(len(value or b"") for _, value in record.headers)
            if size >= PIECE_BYTES:
                yield tp, records[begin:end]
                begin, size = end, 0
        if begin < len(records):
            yield tp, records[begin:]
