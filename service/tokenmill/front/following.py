"""One message's native events as they come, for code of the front that decides by them or makes answers of them.

It reads as the gateway's clients do: what the log has, then what comes. What a worker publishes again is dropped on the
way (`gateway.event_log.view`).
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager

from tokenmill.dialects.native import NATIVE
from tokenmill.errors import Unavailable
from tokenmill.events import known_event
from tokenmill.front.failure import Opening
from tokenmill.gateway.event_log.reading import Reading, Start
from tokenmill.gateway.event_log.view import Frame
from tokenmill.gateway.streams.framing import LINES
from tokenmill.gateway.streams.hub import Hub, Subject
from tokenmill.gateway.streams.stream_request import StreamRequest
from tokenmill.tasks import beside, looked_at


def native(conversation: str, start: Start) -> StreamRequest:
    """Return the request for a stream: one of all messages, so nothing is read before it is asked for."""
    return StreamRequest(conversation, NATIVE, LINES, start=start)


class Following:
    """A client at the head of one conversation, with a message that it waits for.

    Args:
        hub: of the process.
        reading: the client's way to the head, which has begun.
        message_id: the message.
        begins: called with the seconds since now when the first event that brings something is read.
    """

    def __init__(
        self, hub: Hub, reading: Reading, message_id: str, begins: Callable[[float], None] = lambda _: None
    ) -> None:
        self._asked_at = time.monotonic()
        self._begins = begins
        self.opening = Opening()
        """What the first events add up to."""
        self.start = reading.standing
        """The place before its first event, or where that will be."""
        self._begun = False
        """Whether an event was read."""
        self._hub = hub
        self._reading = reading
        self._message = message_id.encode()
        self._came: deque[Frame] = deque()
        self._news = asyncio.Event()
        self._back: tuple[int, bytes] | None = None
        self._gone = ""
        self._last = (-1, 0)

    async def can_be(self, until_ms: int, younger: int) -> bool:
        """Whether the message may be in the log, having begun before this time, or late; in milliseconds since 1970.

        An id may be made up, and the whole log would be read for it. So at most `younger` records later than that time
        are read. A read counts if its last record is later: a record with a wrong clock costs no more than that. What
        begins in memory needs no such look. Raises `Unavailable`.
        """
        reading = self._reading
        if reading.from_window:
            return True
        after, (_, end) = reading.standing.offset, await reading.reader.bounds(reading.partition)
        while after < end and younger > 0:
            begun = after
            came, after = await reading.reader.read(reading.partition, begun, reading.key, end)
            if any(entry.message == self._message for entry in came):
                return True
            if await reading.reader.time_before(reading.partition, after) > until_ms:
                younger -= after - begun
        return False

    async def opened(self, within_s: float) -> None:
        """Read until it is known how to answer, or for this long. Raises `Unavailable`."""
        try:
            async with asyncio.timeout(within_s):
                await self._opened()
        except TimeoutError:
            return

    async def _opened(self) -> None:
        async for frame in self.frames():
            if not self._begun:
                self.start = self.start._replace(partition=self.start.partition, offset=frame.offset, part=0, back=0)
            self._begun = True
            event = known_event(frame.payload)
            if event is not None and self.opening.take(event):
                if self.opening.content:
                    self.first_event()
                return
            if frame.ends:
                return

    @asynccontextmanager
    async def waited_for(self) -> AsyncIterator[None]:
        """A block in which the answer is shown. Its first event is noticed when it comes, if it has not come yet."""
        if self.opening.content:
            yield
            return
        async with beside(self._opened(), "the first event") as waiting:
            waiting.add_done_callback(looked_at)  # where the log is lost, the stream itself ends, too
            yield

    def first_event(self) -> None:
        """Report how long the first event that brings something took."""
        self._begins(time.monotonic() - self._asked_at)

    async def frames(self) -> AsyncGenerator[Frame]:
        """Yield each frame of the message; the last one `ends`. Raises `Unavailable` where the log is lost."""
        while True:
            async with aclosing(self._reading.frames()) as batches:
                async for frames in batches:
                    for frame in self._wanted(frames):
                        yield frame
                        if frame.ends:
                            return
            async for frame in self._live():
                yield frame
                if frame.ends:
                    return
            if self._back is None:
                raise Unavailable(f"an answer can't be read any more: {self._gone or 'its log is another one'}")
            back, self._back = self._back, None
            await self._reading.go_back(self._last, *back)

    async def past(self) -> list[Frame]:
        """Return what the log has of the message. Raises `Unavailable`.

        Another front may have shown what our reader has not reached yet, so "nothing" counts only at the log's end.
        """
        found = await self._past()
        if not found:
            await self._reading.come_to_end()
            found = await self._past()
        return found

    async def was_over(self, at_ms: int) -> bool:
        """Whether the message had ended by this time, in milliseconds since the epoch. Raises `Unavailable`."""
        past, reading = await self.past(), self._reading
        if not past or not past[-1].ends:
            return False
        return await reading.reader.time_before(reading.partition, past[-1].offset + 1) < at_ms

    async def _past(self) -> list[Frame]:
        found: list[Frame] = []
        async with aclosing(self._reading.frames()) as batches:
            async for frames in batches:
                found += self._wanted(frames)
                if found and found[-1].ends:  # what follows may be days of the log
                    break
        return found

    async def _live(self) -> AsyncGenerator[Frame]:
        """Yield frames at the head, until something ends that. No await lies between the last past frame and this."""
        reading = self._reading
        subject = Subject(reading.partition, reading.key, NATIVE, LINES)
        self._hub.attach(subject, reading.view, self)
        try:
            while True:
                while self._came:
                    yield self._came.popleft()
                if self._back is not None or self._gone or reading.lost:
                    return
                await self._news.wait()
                self._news.clear()
        finally:
            self._hub.detach(subject, self)

    def _wanted(self, frames: Sequence[Frame]) -> list[Frame]:
        found = [frame for frame in frames if frame.place > self._last]
        if found:
            self._last = found[-1].place
        return [frame for frame in found if frame.message == self._message]

    # What the hub tells

    def tell(self, frames: Sequence[Frame], data: bytes) -> None:  # noqa: ARG002 -- bytes are for connections
        """Take new frames."""
        self._came += self._wanted(frames)
        self._news.set()

    def send_back(self, opened: int, message: bytes) -> None:
        """Have the reader read again from this time on."""
        self._back = opened, message
        self._news.set()

    def lose(self) -> None:
        """End the reading, as the log is another one now."""
        self._gone = "its log is another one"
        self._news.set()

    def send_home(self) -> None:
        """End the reading, as the process ends."""
        self._gone = "the process ends"
        self._news.set()
