"""Step 7 of the cycle: the snapshots of all lanes, written one after another, off the token path.

A snapshot is captured together with a mark and written only after a commit of that mark or a later one, so the store
never knows more than the broker. Nobody waits for the writer; a write that fails is a shortcut lost, and the next write
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
"""Lanes are due at so many different times within an interval, so that their captures do not pile up."""


class SnapshotLine:
    """What the store has of one lane, and what is on its way there."""

    def __init__(self, partition: Partition, due: float) -> None:
        self.partition = partition
        self.due = due
        """When the next snapshot should be captured, on the loop's clock."""
        self.epoch = 0
        """The group generation in which the lane is owned."""
        self.head: Head | None = None
        self.known = False
        """Whether `head` is what the store has, as far as we know."""
        self.full = True
        """Whether the next write has to be a full one."""
        self.captured: SnapshotWrite | None = None
        """Waits for its offset to be committed, then for the writer."""
        self.queued = False
        """Whether the writer knows of it."""
        self.written = -1
        """Offset of the last write that succeeded."""

    def place(self, offset: int) -> Place:
        """Where a write at this offset stands."""
        return Place(self.epoch, offset, self.partition.log.topic)

    def restored(self, head: Head) -> None:
        """The partition was restored from the store: the next write can be a delta on that."""
        self.head, self.known, self.full, self.written = head, True, False, head.offset

    def capture(self) -> None:
        """Encode what has to be written. Called when a mark is taken, so at an offset that will be committed."""
        self.captured = self.partition.changes(full=self.full)
        # Until the write succeeds the store lacks these changes.
        self.full = True

    def done(self, head: Head, offset: int) -> None:
        """The store has what was captured."""
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
        self._queue: asyncio.Queue[SnapshotLine] = asyncio.Queue()
        self._one_at_a_time = asyncio.Lock()

    def line(self, partition: Partition) -> SnapshotLine:
        """The line of a new lane; lanes are due at different times."""
        share = (partition.number % STAGGER + 1) / STAGGER
        return SnapshotLine(partition, self._clock() + self._interval * share)

    def capture_if_due(self, line: SnapshotLine) -> None:
        """Capture a snapshot at the offset of the mark that was just taken, if it is time and worth it."""
        now = self._clock()
        if now < line.due or line.captured is not None or line.partition.offset == line.written:
            return
        line.due = now + self._interval
        if not self._store.refusing:
            line.capture()

    def committed(self, line: SnapshotLine, offset: int) -> None:
        """Records below `offset` are committed: what was captured there or before may be written."""
        if line.captured is not None and line.captured.offset <= offset and not line.queued:
            line.queued = True
            self._queue.put_nowait(line)

    async def run(self) -> None:
        """Write what is committed, for ever."""
        while True:
            line = await self._queue.get()
            line.queued = False
            await self.write(line)

    async def write_last(self, line: SnapshotLine) -> None:
        """Before a partition is given up: write its present state, which is committed."""
        await self.write(line)
        if line.due == float("inf"):
            return  # the partition has a newer owner, and what that has written is newer
        if line.partition.offset != line.written and not self._store.refusing:
            line.capture()
            await self.write(line)

    async def write(self, line: SnapshotLine) -> None:
        """Write what the line captured. Never raises because of the store."""
        async with self._one_at_a_time:
            if line.captured is not None:
                await self._write(line, line.captured)

    async def _write(self, line: SnapshotLine, write: SnapshotWrite) -> None:
        kind = "full" if write.full else "delta"
        try:
            line.done(await self._send(line, write), write.offset)
        except HeadChanged as changed:
            line.head, line.known = changed.head, True
            self._numbers.add("tokenmill_snapshots_total", kind, "overtaken")
            if changed.head is not None and changed.head.epoch > line.epoch:
                # The partition has a newer owner; we will hear of it from the group.
                line.due = float("inf")
        except Unavailable as problem:
            self._numbers.add("tokenmill_snapshots_total", kind, "failed")
            log.warning("no snapshot of %s/%d: %s", line.partition.topic, line.partition.number, problem)
        else:
            self._numbers.add("tokenmill_snapshots_total", kind, "done")
            self._hooks.snapshot_written(line.partition.topic, line.partition.number, write.offset)
        finally:
            line.captured = None

    async def _send(self, line: SnapshotLine, write: SnapshotWrite) -> Head:
        topic, number, place = line.partition.topic, line.partition.number, line.place(write.offset)
        if not line.known:
            line.head, line.known = await self._store.head(topic, number), True
        if write.full or line.head is None:
            return await self._store.write_full(topic, number, line.head, place, write.meta, write.changed)
        return await self._store.write_delta(topic, number, line.head, place, write.meta, write.changed, write.removed)
