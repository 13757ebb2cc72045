"""One task for all clients: writes what was collected, ends slow streams, and keeps quiet connections alive."""

import asyncio
import time
from collections.abc import Iterable

from tokenmill.gateway.counts import Counts
from tokenmill.gateway.streams.outbox import Outbox
from tokenmill.gateway.streams.stream import Stream

LOOK_S = 1.0
"""Seconds between two looks for connections that have been quiet for too long: fine enough for 15 s, and rare enough
for ten thousand."""

ASKED = 1_000
"""Streams that are asked at each look whether they may stay, which takes a millisecond; of more than 5,000, a fifth."""

AGAIN_S = 0.05
"""Seconds until full sockets are written to again: they stay full for some seconds, or for good."""

APART_S = 0.002
"""Seconds between the ends of two slow clients: one takes a fraction of a millisecond, and a network that breaks makes
thousands slow at the same moment."""


class Flusher:
    """Writes the outboxes of all streams, sends heartbeats, and ends streams that are too slow or may not stay."""

    def __init__(self, flush_s: float, heartbeat_s: float, counts: Counts | None = None) -> None:
        self._counts = counts or Counts()
        self._flush_s = flush_s
        self._heartbeat_s = heartbeat_s
        self._dirty: set[Outbox] = set()
        self._full: set[Outbox] = set()
        """Outboxes whose sockets do not take everything."""
        self._slow: asyncio.Queue[Outbox] = asyncio.Queue()
        self._timestamps: list[int] = []
        self._wake = asyncio.Event()
        self._empty = asyncio.Event()
        self._streams: dict[Outbox, Stream] = {}
        self._unasked: list[Stream] = []

    def add(self, stream: Stream) -> None:
        """Look after a stream."""
        stream.outbox.written_at = asyncio.get_running_loop().time()
        self._streams[stream.outbox] = stream
        self._empty.clear()

    def remove(self, stream: Stream) -> None:
        """Forget a stream that is over."""
        self._streams.pop(stream.outbox, None)
        self._dirty.discard(stream.outbox)
        self._full.discard(stream.outbox)
        if not self._streams:
            self._empty.set()

    def dirty(self, outbox: Outbox) -> None:
        """Note that an outbox has something to write."""
        self._dirty.add(outbox)
        self._wake.set()

    def told(self, timestamps: Iterable[int]) -> None:
        """Note the timestamps of records that were handed to clients, in milliseconds since the epoch.

        Not all of those clients have streams: long polls are answered with the next record.
        """
        self._timestamps += timestamps
        if self._timestamps:
            self._wake.set()

    @property
    def streams(self) -> list[Stream]:
        """All streams."""
        return list(self._streams.values())

    async def emptied(self) -> None:
        """Wait until there are no streams."""
        if self._streams:
            await self._empty.wait()

    async def run(self) -> None:
        """Run all of its tasks until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._flush())
            group.create_task(self._beat())
            group.create_task(self._try_again())
            group.create_task(self._end_slow())

    async def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            await asyncio.sleep(self._flush_s)
            self._wake.clear()
            dirty, self._dirty = self._dirty, set()
            now = loop.time()
            for outbox in dirty:
                self._write(outbox, now)
            self._counts.delivered(self._timestamps, time.time() * 1000)
            self._timestamps.clear()

    def _write(self, outbox: Outbox, now: float) -> None:
        if not outbox.flush(now):
            self._full.add(outbox)
        if outbox.slow:
            self._slow.put_nowait(outbox)

    def _ask(self) -> None:
        """Ask some streams whether they may stay; each is asked within five looks."""
        if not self._unasked:
            self._unasked = list(self._streams.values())
        count = max(ASKED, len(self._streams) // 5)
        for stream in self._unasked[-count:]:
            if (why := stream.leaves()) is not None:
                stream.end(why)
        del self._unasked[-count:]

    async def _try_again(self) -> None:
        """Retry full sockets, though not with every write of others: thousands may be full."""
        while True:
            await asyncio.sleep(AGAIN_S)
            if self._full:
                self._dirty |= self._full
                self._full.clear()
                self._wake.set()

    async def _end_slow(self) -> None:
        while True:
            stream = self._streams.get(await self._slow.get())
            if stream is not None:
                stream.end("slow")
                await asyncio.sleep(APART_S)

    async def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(LOOK_S, self._heartbeat_s / 2))
            quiet = loop.time() - self._heartbeat_s
            silent = 0
            self._ask()
            for outbox, stream in tuple(self._streams.items()):
                if outbox.written_at <= quiet:
                    outbox.put(stream.heartbeat)
                    silent += 1
            self._counts.beat(silent)
