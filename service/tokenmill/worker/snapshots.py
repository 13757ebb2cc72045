"""Step 7 of the cycle: the snapshots of all lanes, written one after another, off the token path.

A snapshot is captured together with a mark and written only after a commit of that mark or a later one, so the store
is never ahead of the broker. Nobody waits for the writer; a write that fails is a shortcut lost, and the next write
of that lane is a full one.
"""

import asyncio
import logging
from collections.abc import Callable

from tokenmill.errors import Unavailable
from tokenmill.observe import Hooks, Numbers
from tokenmill.partition import Partition, SnapshotWrite
from tokenmill.store import GuardedStore, Head, HeadChanged, Place

log = logging.getLogger(__name__)

STAGGER = 8
"""Number of times within an interval at which lanes are due, so that their captures do not pile up."""


class LaneSnapshots:
    """What the store has of one lane, and what waits to be written."""

    def __init__(self, partition: Partition, due: float) -> None:
        self.partition = partition
        self.due = due
        """When the next snapshot should be captured, on the writer's clock."""
        self.epoch = 0
        """The writer's fencing number: the group's generation; with exactly-once the producer's id and epoch."""
        self.overtaken = False
        """Whether a newer owner has written one: nothing more is captured."""
        self.head: Head | None = None
        self.known = False
        """Whether `head` is what the store has, as far as we know."""
        self.full = True
        """Whether the next write has to be a full one."""
        self.captured: SnapshotWrite | None = None
        """Waits for its offset to be committed, then for the writer."""
        self.queued = False
        """Whether it is in the writer's queue."""
        self.written = -1
        """Offset of the last write that succeeded."""

    def place(self, offset: int) -> Place:
        """Return where a write at this offset stands."""
        return Place(self.epoch, offset, self.partition.log.topic)

    def restored(self, head: Head) -> None:
        """Note that the partition was restored from the store: the next write can be a delta on that."""
        self.head, self.known, self.full, self.written = head, True, False, head.offset

    def owned_again(self, epoch: int, due: float) -> None:
        """The group has given the partition back: continue with what the store has."""
        self.epoch, self.due, self.overtaken = epoch, due, False

    def capture(self) -> None:
        """Encode what has to be written. Called when a mark is taken, so at an offset that will be committed."""
        self.captured = self.partition.changes(full=self.full)
        # Until the write succeeds the store lacks these changes.
        self.full = True

    def done(self, head: Head, offset: int) -> None:
        """Note that the store has what was captured."""
        self.head, self.known, self.full, self.written = head, True, False, offset


class SnapshotWriter:
    """Writes what lanes captured."""

    def __init__(
        self, store: GuardedStore, interval: float, numbers: Numbers, hooks: Hooks, clock: Callable[[], float]
    ) -> None:
        """`interval` in seconds between two snapshots of a partition."""
        self._store = store
        self._interval = interval
        self._numbers = numbers
        self._hooks = hooks
        self._clock = clock
        self._queue: asyncio.Queue[LaneSnapshots] = asyncio.Queue()
        self._one_at_a_time = asyncio.Lock()

    def of_lane(self, partition: Partition) -> LaneSnapshots:
        """Return those of a new lane; lanes are due at different times."""
        share = (partition.number % STAGGER + 1) / STAGGER
        return LaneSnapshots(partition, self._clock() + self._interval * share)

    def capture_if_due(self, snapshots: LaneSnapshots) -> None:
        """Capture a snapshot at the offset of the mark that was just taken, if it is time and worth it."""
        now = self._clock()
        if snapshots.overtaken or snapshots.captured is not None or now < snapshots.due:
            return
        if snapshots.partition.offset == snapshots.written:
            return
        snapshots.due = now + self._interval
        if not self._store.refusing:
            snapshots.capture()

    def committed(self, snapshots: LaneSnapshots, offset: int) -> None:
        """Queue what was captured at `offset` or before: the records below it are committed."""
        if snapshots.captured is not None and snapshots.captured.offset <= offset and not snapshots.queued:
            snapshots.queued = True
            self._queue.put_nowait(snapshots)

    async def run(self) -> None:
        """Write what is committed, for ever."""
        while True:
            snapshots = await self._queue.get()
            snapshots.queued = False
            await self.write(snapshots)

    async def write_last(self, snapshots: LaneSnapshots) -> None:
        """Write the present state of a partition that is given up, which is committed; a newer owner's stays."""
        await self.write(snapshots)
        if not snapshots.overtaken and snapshots.partition.offset != snapshots.written and not self._store.refusing:
            snapshots.capture()
            await self.write(snapshots)

    async def write(self, snapshots: LaneSnapshots) -> None:
        """Write what was captured. Never raises because of the store."""
        async with self._one_at_a_time:
            if snapshots.captured is not None:
                await self._write(snapshots, snapshots.captured)

    async def _write(self, snapshots: LaneSnapshots, write: SnapshotWrite) -> None:
        kind = "full" if write.full else "delta"
        try:
            snapshots.done(await self._send(snapshots, write), write.offset)
        except HeadChanged as changed:
            snapshots.head, snapshots.known = changed.head, True
            self._numbers.add("tokenmill_snapshots_total", kind, "overtaken")
            snapshots.overtaken = changed.head is not None and changed.head.epoch > snapshots.epoch
        except Unavailable as problem:
            self._numbers.add("tokenmill_snapshots_total", kind, "failed")
            log.warning("no snapshot of %s/%d: %s", snapshots.partition.topic, snapshots.partition.number, problem)
        else:
            self._numbers.add("tokenmill_snapshots_total", kind, "done")
            self._hooks.snapshot_written(snapshots.partition.topic, snapshots.partition.number, write.offset)
        finally:
            snapshots.captured = None

    async def _send(self, snapshots: LaneSnapshots, write: SnapshotWrite) -> Head:
        topic, number, place = snapshots.partition.topic, snapshots.partition.number, snapshots.place(write.offset)
        if not snapshots.known:
            snapshots.head, snapshots.known = await self._store.head(topic, number), True
        head = snapshots.head
        if write.full or head is None:
            return await self._store.write_full(topic, number, head, place, write.meta, write.changed)
        return await self._store.write_delta(topic, number, head, place, write.meta, write.changed, write.removed)
