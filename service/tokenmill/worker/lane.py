"""One input partition that this worker owns: from its records to what may be committed.

Steps 2 to 5 of the cycle (see `engine`). A slice of records is parsed, its outputs are appended to the outboxes, and it
is remembered which batches they are in. When those are acknowledged, in order, the newest mark after them can be
committed. Several slices are on their way at once; none is settled before an earlier one.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from aiokafka import TopicPartition

from tokenmill.errors import Unavailable
from tokenmill.observe import Numbers
from tokenmill.observe.telemetry import NO_TELEMETRY, Telemetry
from tokenmill.partition import Mark, Partition, TimeoutControl
from tokenmill.records import Output, Record
from tokenmill.worker.inbox import Inbox
from tokenmill.worker.outbox import Outbox
from tokenmill.worker.snapshots import LaneSnapshots
from tokenmill.worker.tracing import record_span

log = logging.getLogger(__name__)

failures = logging.getLogger("tokenmill.worker.failed")

rejections = logging.getLogger("tokenmill.worker.rejected")


class Phase(Enum):
    """How far a lane is after its assignment."""

    RESTORING = "restoring"
    """The state is being restored; nothing is read."""
    REPLAYING = "replaying"
    """Records below the committed offset are read again, silently."""
    HELD = "held"
    """An output has no partition for what would be read (see `output_partitions`); nothing is read."""
    LIVE = "live"
    FAILED = "failed"
    """The broker refused its output for now; it restarts from what is committed."""
    CLOSED = "closed"
    """Revoked or drained: whatever still arrives for it is ignored."""


class Slice(NamedTuple):
    """Records that were processed together, or a mark after them."""

    needs: list[tuple[Outbox, int]]
    """Outboxes, and how many batches each must have acknowledged."""
    timestamps: list[int]
    opened: list[int]
    mark: Mark | None


class Publication(Protocol):
    """When a lane's outputs are sent, and when they are done. Each kind of delivery has its own."""

    def appended(self, lane: "Lane") -> None:
        """React to new records in the lane's outboxes."""

    def marked(self, lane: "Lane") -> None:
        """React to a mark after all that was appended."""

    def acknowledged(self, lane: "Lane") -> None:
        """React to an acknowledgement: slices may be done."""

    def committable(self, lane: "Lane") -> Mark | None:
        """Return the mark to commit, if it is not committed yet."""

    def committed(self, lane: "Lane", mark: Mark) -> None:
        """Note that the broker has this mark."""

    async def drained(self, lane: "Lane") -> None:
        """Wait until a commit would cover everything that was processed."""

    def close(self) -> None:
        """React to the lane being given up."""


class AtOnce:
    """Outputs are sent immediately, and done when acknowledged, in order; the newest mark after them is ready."""

    def __init__(self) -> None:
        self._ready: Mark | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    def appended(self, lane: "Lane") -> None:
        for box in lane.outboxes.values():
            box.flush()

    def marked(self, lane: "Lane") -> None:
        pass

    def acknowledged(self, lane: "Lane") -> None:
        slices, now = lane.slices, lane.now_ms()
        while slices and all(box.acked >= needed for box, needed in slices[0].needs):
            self._ready = lane.done(now) or self._ready
        if slices:
            self._idle.clear()
        else:
            self._idle.set()

    def committable(self, lane: "Lane") -> Mark | None:  # noqa: ARG002 -- other deliveries look at its slices
        return self._ready

    def committed(self, lane: "Lane", mark: Mark) -> None:  # noqa: ARG002 -- as above
        if self._ready is mark:
            self._ready = None

    async def drained(self, lane: "Lane") -> None:  # noqa: ARG002 -- as above
        await self._idle.wait()

    def close(self) -> None:
        pass


class Lane:
    """The state of one owned partition and everything that is in flight for it."""

    def __init__(
        self,
        snapshots: LaneSnapshots,
        topics: Iterable[str],
        outbox: Callable[[str, Callable[[], None]], Outbox],
        inbox: Inbox,
        numbers: Numbers,
        publication: Publication,
        telemetry: Telemetry = NO_TELEMETRY,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`outbox` makes the way to a topic, given what to call after each acknowledgement; `inbox` is the way back to
        the input. `wall` is in seconds.
        """
        self.partition = partition = snapshots.partition
        self.snapshots = snapshots
        self.publication = publication
        self.outboxes = {topic: outbox(topic, self.settle) for topic in topics}
        self._appends = {topic: box.append for topic, box in self.outboxes.items()}
        self.inbox = inbox
        """For control records."""
        self.topic_partition = TopicPartition(partition.topic, partition.number)
        self.phase = Phase.RESTORING
        self.placed = False
        """It has had one of the few places for restoring; others still wait."""
        self.begun_at = 0.0
        """The beginning of its restore, on its owner's clock."""
        self.committed: Mark | None = None
        """What the broker has, as far as we know."""
        self.next_read = 0
        """Offset of the next record that the consumer returns, since it was placed."""
        self.paused = False
        self.ending = False
        """What it has read is being finished, and it is given nothing more: the log may be another one by now."""
        self.hold = 0
        """Batches of the inbox that must be acknowledged before a paused lane continues."""
        self.slices: deque[Slice] = deque()
        """What is on its way, the oldest first."""
        self._marked = -1
        self._read_at = 0.0
        """When something was read last, on the monotonic clock."""
        self._numbers = numbers
        self._telemetry = telemetry
        self._wall = wall
        self._latency = numbers.histograms["tokenmill_chunk_to_event_latency_seconds"]
        self._first_event = numbers.histograms["tokenmill_time_to_first_event_seconds"]

    @property
    def unacked_bytes(self) -> int:
        """Bytes of output that the broker has not acknowledged."""
        return sum(box.unacked_bytes for box in self.outboxes.values())

    @property
    def acknowledged(self) -> int:
        """Batches that the broker has acknowledged."""
        return sum(box.acked for box in self.outboxes.values())

    @property
    def in_flight(self) -> bool:
        """Whether anything waits for an acknowledgement."""
        return bool(self.slices)

    @property
    def unmarked(self) -> bool:
        """Whether anything was processed after the last mark."""
        return self.partition.offset != self._marked

    def adopt(self, partition: Partition, snapshots: LaneSnapshots | None = None) -> None:
        """Take over a state from elsewhere: parked, from the store, or empty at another offset."""
        self.partition = partition
        if snapshots is not None:
            self.snapshots = snapshots
        self.snapshots.partition = partition

    def go_live(self) -> None:
        """Go live with the state of `partition.offset`. Unless the broker has exactly that, it is committed again."""
        self._marked = self.committed.offset if self.committed else -1
        self._read_at = time.monotonic()
        self.phase = Phase.LIVE

    def process(self, records: Sequence[Record]) -> None:
        """Steps 2 and 3, parse and publish: records in, outputs on their way, in the order of the log (P1)."""
        out: list[Output] = []
        self._read_at = time.monotonic()
        self.partition.process(records, out)
        self.publish(out, [record.timestamp for record in records])

    def publish(self, out: Sequence[Output], timestamps: list[int]) -> None:
        """Step 3: append outputs to the outboxes and remember what they wait for."""
        appends = self._appends
        for output in out:
            appends[output.topic](output.timestamp, output.key, output.value, output.headers)
        self.publication.appended(self)
        self.slices.append(Slice(self._needs(), timestamps, self._count(), None))
        self.settle()

    def write_controls(self, controls: Sequence[TimeoutControl]) -> None:
        """Write these to the input, to be read like any other record."""
        timestamp = self._control_time()
        for control in controls:
            self.inbox.append(timestamp, control.key, control.value, control.headers)
        if controls:
            self.inbox.flush()
            self._numbers.add("tokenmill_timeouts_written_total", by=len(controls))

    def _control_time(self) -> int:
        """Return this host's time; if the broker rejected that, the log's, counted on from its last record."""
        now = int(self.now_ms())
        if not self.inbox.misdated:
            return now
        return min(now, self.partition.time + int((time.monotonic() - self._read_at) * 1000))

    def mark(self) -> None:
        """Step 5: note what a commit of the present offset would hold, if there is anything new to commit."""
        if self.unmarked:
            mark = self.partition.mark()
            self._marked = mark.offset
            self.slices.append(Slice(self._needs(), [], [], mark))
            self.settle()
        self.publication.marked(self)

    def settle(self) -> None:
        """Step 4: settle what is acknowledged."""
        self.publication.acknowledged(self)

    def committable(self) -> Mark | None:
        """Return the mark to commit, if the lane is live and the broker does not have it yet."""
        return self.publication.committable(self) if self.phase is Phase.LIVE else None

    def commit_done(self, mark: Mark) -> None:
        """Note that the broker has this mark."""
        self.committed = mark
        self.publication.committed(self, mark)

    async def drained(self) -> None:
        """Wait until a commit would cover everything that was processed."""
        await self.publication.drained(self)

    def done(self, now: float) -> Mark | None:
        """Remove the oldest slice, done at `now` in milliseconds; return its mark, if it is one."""
        done = self.slices.popleft()
        self._latency.observe_since(done.timestamps, now)
        self._first_event.observe_since(done.opened, now)
        return done.mark

    def now_ms(self) -> float:
        """Return the time that records' timestamps are compared with."""
        return self._wall() * 1000

    def fail(self, problem: Unavailable) -> None:
        """Note that output may not have reached the broker: nothing more of this state is sent or committed."""
        if self.phase is Phase.LIVE:
            log.warning("%s/%d: %s", *self.topic_partition, problem)
            self.phase = Phase.FAILED

    def close(self) -> None:
        """Give the lane up: nothing more is sent or committed for it."""
        self.phase = Phase.CLOSED
        for box in (*self.outboxes.values(), self.inbox):
            box.close()
        self.publication.close()

    def _needs(self) -> list[tuple[Outbox, int]]:
        return [(box, box.begun) for box in self.outboxes.values() if box.acked < box.begun]

    def _count(self) -> list[int]:
        tally = self.partition.drain()
        self._numbers.take(tally)
        for ended in tally.ended:
            record_span(self._telemetry, ended, self.topic_partition)
        for trace in tally.traces:
            log.debug("%s, message %s: %s\nbecame %s", *trace)
        for where in tally.failed:
            failures.error("%s/%d: %s; please report it", *self.topic_partition, where)
        for offset, code in tally.rejected:  # what is wrong may quote the record, which must not be logged
            where = f"{self.partition.topic}/{self.partition.number}@{offset}"
            rejections.getChild(code).warning(  # so that many of one code hide none of another
                "dead letter, %s: %s; `tokenmill dlq list` shows what is wrong with it", code, where
            )
        return tally.opened
