"""One conversation's records in log order, from the window or from before it."""

import asyncio
import time
from bisect import bisect_right
from collections.abc import Sequence

from tokenmill.errors import Unavailable
from tokenmill.gateway.event_log.entry import Entry
from tokenmill.gateway.event_log.log_readers import BATCH, ClientLogReader, DeletedByRetention
from tokenmill.gateway.event_log.window import OFFSET, Window

FIRST_RECORDS = 64
"""Records after the place that are read before anything is shown: a waiting client sees something soon, and what
follows comes in larger turns."""

BEHIND_S = 5.0
"""Seconds that a client from another gateway waits for our reader to come as far as that gateway's: usually it takes
milliseconds."""

LOOK_S = 0.01
"""Seconds between two checks of our reader's progress."""


class Conversation:
    """Reads what one client needs of a conversation's records. Raises `Unavailable` when Kafka does not answer."""

    __slots__ = ("_window", "key", "partition", "reader")

    def __init__(self, reader: ClientLogReader, window: Window, key: bytes, partition: int) -> None:
        self.reader = reader
        self._window = window
        self.key = key
        self.partition = partition

    @property
    def lost(self) -> bool:
        """Whether the log has been replaced by another one."""
        return self._window.dropped

    @property
    def kept_from(self) -> int:
        """The first offset from which everything is in memory."""
        return self._window.first

    @property
    def end(self) -> int:
        """The offset after the last record that our reader has read."""
        return self._window.end

    async def ends_before(self, offset: int) -> bool:
        """Whether the log itself ends before an offset. Our reader may lag behind the log's end."""
        if offset <= self._window.end:
            return False
        _, end = await self.reader.bounds(self.partition)
        return offset > end

    async def there(self, wanted: int) -> int:
        """Return the offset itself if the log still has it, else the log's first offset."""
        if wanted >= self._window.first or not self._window.first:
            return max(0, wanted)
        first, _ = await self.reader.bounds(self.partition)
        return max(first, wanted)

    async def since(self, time_ms: int) -> int | None:
        """Return the first offset at or after a time in milliseconds since the epoch; None if all are older."""
        return await self.reader.since(self.partition, time_ms)

    async def at(self, offset: int) -> Entry | None:
        """Return the conversation's record at this offset, if there is one. Wait until our reader has reached it."""
        await self._wait_for(offset)
        found, after = self._window.of(self.key, offset)
        if offset < self._window.first:
            found, after = [], offset
        while not found and after <= offset:
            try:
                found, after = await self.reader.read(self.partition, offset, self.key, offset + 1, 1)
            except DeletedByRetention:
                return None
        return found[0] if found and found[0].offset == offset else None

    async def come_to_end(self) -> None:
        """Wait until our reader has reached the record that is now the conversation's last."""
        _, end = await self.reader.bounds(self.partition)
        last, after = -1, self._window.end
        while after < end:
            found, after = await self.reader.read(self.partition, after, self.key, end)
            last = found[-1].offset if found else last
        await self._wait_for(last)

    async def _wait_for(self, offset: int) -> None:
        until = time.monotonic() + BEHIND_S
        while self._window.end <= offset:
            if time.monotonic() > until:
                raise Unavailable(f"partition {self.partition} was not read up to offset {offset} in time")
            await asyncio.sleep(LOOK_S)

    async def before_window(self, start: int, soon: int | None) -> tuple[Sequence[Entry], int]:
        """Return records from an offset on that lie before the window, and the offset to continue at.

        With `soon`, only a few records after that offset are read. Raises `DeletedByRetention`.
        """
        most = BATCH if soon is None else max(0, soon - start) + FIRST_RECORDS
        came, after = await self.reader.read(self.partition, start, self.key, self._window.first, min(most, BATCH))
        end = self._window.end
        if after > end:  # the log is ahead of the tail, which has yet to pass these on to clients at the head
            came, after = [entry for entry in came if entry.offset < end], end
        return came, after

    def in_window(self, start: int, soon: int | None) -> tuple[Sequence[Entry], int]:
        """Return the window's records from an offset on, and the offset to continue at."""
        came, after = self._window.of(self.key, start)
        most = len(came) if soon is None else bisect_right(came, soon, key=OFFSET) + FIRST_RECORDS
        return (came, after) if most >= len(came) else (came[:most], came[most].offset)
