"""The native events of one message, for the front's own code: it chooses a status by them, or collects whole answers.

They are read as for the gateway's clients: first those that the log has, then new ones. Events that a worker published
twice come once (`gateway.event_log.view`).
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

LOG_LOST = "the log of events lost records or was replaced"


def native(conversation: str, start: Start) -> StreamRequest:
    """Return the request for a conversation's native stream.

    It names no message: for a named one, preparing the stream would already read the log.
    """
    return StreamRequest(conversation, NATIVE, LINES, start=start)


class Following:
    """A client of the hub that reads one message of a conversation.

    Args:
        hub: the hub of the process.
        reading: the reading of the conversation's log, which has begun.
        message_id: the message to read.
        begins: called once the first event with content is read, with the seconds since this object was made.
        starts: called with the message's first event when it is read.
    """

    def __init__(
        self,
        hub: Hub,
        reading: Reading,
        message_id: str,
        begins: Callable[[float], None] = lambda _: None,
        starts: Callable[[bytes], None] = lambda _: None,
    ) -> None:
        self._made_at = time.monotonic()
        self._begins = begins
        self._starts = starts
        self._started = False
        self.opening = Opening()
        """How to answer, by the first events."""
        self.start = reading.standing
        """The place before the message's first event; until that is read, the place where reading began."""
        self._begun = False
        """Whether an event of the message was read."""
        self._hub = hub
        self._reading = reading
        self._message = message_id.encode()
        self._new_frames: deque[Frame] = deque()
        """Frames from the hub that were not yielded yet."""
        self._news = asyncio.Event()
        self._go_back: tuple[int, bytes] | None = None
        """Arguments of `send_back`, until the reading has gone back."""
        self._lost_why = ""
        """Why the reading has ended; empty while it goes on."""
        self._last_place = (-1, 0)

    async def can_be(self, until_ms: int, younger: int) -> bool:
        """Whether the log may have the message. Raises `Unavailable`.

        A client can make up an id, and the whole log would be read for it. So all records up to `until_ms` are read, in
        milliseconds since the epoch, and only about `younger` later records, for a message that began late. The records
        of a read count as later if its last one is: a single record with a wrong clock costs no more than its read. A
        reading that begins in the window in memory is cheap, and needs no such limit.
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
        """Read until the events decide how to answer, at most `within_s` seconds. Raises `Unavailable`."""
        try:
            async with asyncio.timeout(within_s):
                await self._read_opening()
        except TimeoutError:
            return

    async def _read_opening(self) -> None:
        async with aclosing(self.frames()) as frames:
            async for frame in frames:
                if not self._begun:
                    self.start = self.start._replace(offset=frame.offset, part=0, back=0)
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
        """A block in which another reading streams the answer. Meanwhile this one reports its first event with content,
        unless it has reported it already.
        """
        if self.opening.content:
            yield
            return
        async with beside(self._read_opening(), "the first event") as waiting:
            waiting.add_done_callback(looked_at)  # if the log is lost, the stream itself ends, too
            yield

    def first_event(self) -> None:
        """Report that the first event with content was read, and after how many seconds."""
        self._begins(time.monotonic() - self._made_at)

    async def frames(self) -> AsyncGenerator[Frame]:
        """Yield each frame of the message, up to the one that `ends` it. Raises `Unavailable` if the log is lost."""
        while True:
            async with aclosing(self._reading.frames()) as batches:
                async for frames in batches:
                    for frame in self._own(frames):
                        yield frame
                        if frame.ends:
                            return
            async with aclosing(self._live()) as live:
                async for frame in live:
                    yield frame
                    if frame.ends:
                        return
            if self._go_back is None:
                raise Unavailable(f"an answer can't be read any more: {self._lost_why or LOG_LOST}")
            back, self._go_back = self._go_back, None
            await self._reading.go_back(self._last_place, *back)

    async def past(self) -> list[Frame]:
        """Return the frames of the message that the log has. Raises `Unavailable`.

        Another front may have shown frames that our reader has not reached yet, so the log is read to its end before
        this returns none.
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
                found += self._own(frames)
                if found and found[-1].ends:  # the rest may be days of the log
                    break
        return found

    async def _live(self) -> AsyncGenerator[Frame]:
        """Yield new frames at the head of the log, until the hub sends the reader back or ends it.

        Nothing is awaited between the last frame of the past and the start of this, so that no frame is missed.
        """
        reading = self._reading
        subject = Subject(reading.partition, reading.key, NATIVE, LINES)
        self._hub.attach(subject, reading.view, self)
        try:
            while True:
                while self._new_frames:
                    yield self._new_frames.popleft()
                if self._go_back is not None or self._lost_why or reading.lost:
                    return
                await self._news.wait()
                self._news.clear()
        finally:
            self._hub.detach(subject, self)

    def _own(self, frames: Sequence[Frame]) -> list[Frame]:
        """Return the frames of the message, without those that were returned before."""
        found = [frame for frame in frames if frame.place > self._last_place]
        if found:
            self._last_place = found[-1].place
        own = [frame for frame in found if frame.message == self._message]
        if not self._started and (first := next((frame for frame in own if frame.first), None)) is not None:
            self._started = True
            self._starts(first.payload)
        return own

    # Methods that the hub calls

    def tell(self, frames: Sequence[Frame], data: bytes) -> None:  # noqa: ARG002 -- bytes are for connections
        """Take new frames of the conversation."""
        self._new_frames += self._own(frames)
        self._news.set()

    def send_back(self, opened: int, message: bytes) -> None:
        """Have `frames` read the log again from `opened` on: the view at the head lacks the beginning of `message`."""
        self._go_back = opened, message
        self._news.set()

    def lose(self) -> None:
        """End the reading, as the log lost records or was replaced."""
        self._lost_why = LOG_LOST
        self._news.set()

    def send_home(self) -> None:
        """End the reading, as the process ends."""
        self._lost_why = "the process ends"
        self._news.set()
