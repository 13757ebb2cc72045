"""Recent records of all partitions that have readers: a cache of the log, capped in bytes and in age.

1. A partition's window has no hole: it holds every event from `first` up to, not including, `end`.
2. The oldest record of all partitions leaves first, so a quiet partition keeps hours and a busy one seconds.
3. A conversation's records are found without looking at another's.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from operator import attrgetter

from tokenmill.gateway.event_log.entry import Entry

TURN_BYTES = 256 * 1024
"""Bytes of records that are read for one client before another one gets its turn: some milliseconds. It is also the
most that a client is sent at once, which takes two seconds at 1 Mbit/s."""

KEY_BYTES = 850
"""Bytes that a conversation takes in CPython besides its records: a place in the index, and a block of its deque."""

OFFSET = attrgetter("offset")
"""The key that entries are sorted by."""


class Window:
    """The part of one partition that is in memory."""

    __slots__ = ("by_key", "dropped", "end", "first")

    def __init__(self, at: int) -> None:
        self.first = at
        """The first offset from which every record is here."""
        self.end = at
        """The offset of the next record to come."""
        self.by_key: dict[bytes, deque[Entry]] = {}
        self.dropped = False
        """Whether it is no longer filled: a client that was about to continue from it has to begin again."""

    def of(self, key: bytes, start: int) -> tuple[list[Entry], int]:
        """Return a conversation's next records from an offset on, in order, and the offset to continue at.

        There are as many as one turn of the event loop should take; the offset is `end` if no more follow.
        """
        held = self.by_key.get(key)
        if not held:
            return [], self.end
        found, size = list[Entry](), 0
        for entry in islice(held, bisect_left(held, start, key=OFFSET), None):
            size += entry.size
            if found and size > TURN_BYTES:
                return found, entry.offset
            found.append(entry)
        return found, self.end


class Windows:
    """The windows of all partitions under one cap of bytes and one of age."""

    def __init__(self, cap_bytes: int, cap_s: float) -> None:
        self._cap_bytes = cap_bytes
        self._cap_s = cap_s
        self._windows: dict[int, Window] = {}
        self._order: deque[tuple[float, Entry]] = deque()
        self.size = 0
        """Bytes of all records in the windows, and of what finds them."""

    def open(self, partition: int, at: int) -> Window:
        """Make a new window, which is empty and begins at this offset."""
        self.drop(partition)
        window = self._windows[partition] = Window(at)
        return window

    def get(self, partition: int) -> Window | None:
        """Return the window of a partition; None if the partition is not read."""
        return self._windows.get(partition)

    def drop(self, partition: int) -> None:
        """Forget a partition that no longer has readers."""
        window = self._windows.pop(partition, None)
        if window is None:
            return
        window.dropped = True
        if window.by_key:
            self._order = deque(item for item in self._order if item[1].partition != partition)
            kept = sum(len(each.by_key) for each in self._windows.values())
            self.size = sum(entry.size for _, entry in self._order) + kept * KEY_BYTES

    def add(self, partition: int, came: Sequence[Entry], end: int, now: float) -> None:
        """Add the records that follow; `end` is the offset after them, `now` is in seconds."""
        window = self._windows[partition]
        for entry in came:
            held = window.by_key.get(entry.key)
            if held is None:
                held = window.by_key[entry.key] = deque()
                self.size += KEY_BYTES
            held.append(entry)
            self._order.append((now, entry))
            self.size += entry.size
        window.end = max(window.end, end)
        self.expire(now)

    def expire(self, now: float) -> None:
        """Drop the oldest records while a cap is exceeded."""
        order = self._order
        while order and (self.size > self._cap_bytes or order[0][0] < now - self._cap_s):
            _, entry = order.popleft()
            self.size -= entry.size
            self._forget(self._windows[entry.partition], entry)

    def _forget(self, window: Window, entry: Entry) -> None:
        held = window.by_key[entry.key]
        held.popleft()
        if not held:
            del window.by_key[entry.key]
            self.size -= KEY_BYTES
        window.first = entry.offset + 1

    @property
    def records(self) -> int:
        """The number of records in all windows."""
        return len(self._order)

    def __iter__(self) -> Iterator[tuple[int, Window]]:
        return iter(self._windows.items())
