"""One client of one conversation, from its first byte to its last: first the past, then new frames.

It is the same for every transport: a `Pipe` writes, a `Framing` defines how frames look. How a connection ends is up to
the transport, which gets the outcome.
"""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from typing import Protocol

from tokenmill.config import Gateway
from tokenmill.dialects import Renderer
from tokenmill.dialects.server_sent import server_sent
from tokenmill.events import Error
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.event_log.position import Position
from tokenmill.gateway.event_log.reading import Reading
from tokenmill.gateway.event_log.view import Frame
from tokenmill.gateway.event_log.window import TURN_BYTES
from tokenmill.gateway.streams.flusher import Flusher
from tokenmill.gateway.streams.folding import folded
from tokenmill.gateway.streams.framing import SSE, drawn_retry_ms
from tokenmill.gateway.streams.hub import Hub, Subject
from tokenmill.gateway.streams.outbox import Outbox, Pipe
from tokenmill.gateway.streams.stream import MessageFilter, Stream
from tokenmill.gateway.streams.stream_request import StreamRequest
from tokenmill.observe.gateway_table import Outcome

LOST = Error(code="gap", message="the log no longer has the beginning of this answer")


class Leaves(Protocol):
    """Returns why a client may not stay; None if it may."""

    def __call__(self) -> Outcome | None: ...
    async def onward(self) -> Position:
        """Return the place where it continues, on another partition. Raises `Unavailable`."""


class StreamSession:
    """Serves one client that reads a conversation: sends the past from the log, then new frames, until that is over."""

    __slots__ = (
        "_asked",
        "_counts",
        "_flusher",
        "_hub",
        "_leaves",
        "_lost",
        "_over",
        "_pipe",
        "_reading",
        "_sent",
        "_sent_at",
        "_settings",
        "_subject",
        "_wanted",
    )

    def __init__(
        self,
        settings: Gateway,
        hub: Hub,
        flusher: Flusher,
        counts: Counts,
        asked: StreamRequest,
        reading: Reading,
        pipe: Pipe,
        leaves: Leaves,
    ) -> None:
        self._settings = settings
        self._hub = hub
        self._flusher = flusher
        self._counts = counts
        self._asked = asked
        self._reading = reading
        self._pipe = pipe
        self._leaves = leaves
        self._wanted = MessageFilter(asked.message, single=asked.single)
        self._subject = Subject(reading.partition, reading.key, asked.dialect, asked.framing)
        self._sent_at = time.monotonic()
        self._over: bool | None = None
        """Whether the request was fulfilled by the last frame that was sent of the past; None: none was sent."""
        self._lost = False
        """Whether the client was sent the error that its message can't be shown."""
        self._sent = counts.sent(asked.dialect.name, asked.framing.name)

    async def attend(self, peeked: Sequence[Frame]) -> Outcome:
        """Serve until the stream is over, and return why. Raises `ConnectionError` and `TimeoutError` for a client that
        is gone or stuck.
        """
        with self._counts.attending(self._asked.framing.name) as attended:
            await self._send(self._opening())
            await self._deliver(peeked)
            while (outcome := await self._catch_up() or await self._live()) == "back":
                self._counts.ended(outcome)
            attended.outcome = outcome
            if outcome == "moved":
                await self._lead_on(await self._leaves.onward())
        return outcome

    def _opening(self) -> bytes:
        framing = self._asked.framing
        if self._asked.dialect.tells_gaps == "never":
            return framing.opening(None)
        return framing.pause(drawn_retry_ms()) + framing.opening(self._reading.standing)

    async def _catch_up(self) -> Outcome | None:
        """Send everything up to the head, also if the topic has grown, unless the client may not stay."""
        if self._lost:
            return "finished"
        began_at = time.monotonic()
        async with aclosing(self._reading.frames()) as batches:
            async for frames in batches:
                await self._deliver(frames)
                if (outcome := self._cut_short()) is not None:
                    return outcome
                if time.monotonic() - self._sent_at > self._settings.heartbeat_s:
                    await self._send(self._asked.framing.heartbeat)
        self._counts.caught_up(time.monotonic() - began_at)
        return None

    def _cut_short(self) -> Outcome | None:
        """Return why a client does not reach the head; None if it may continue."""
        if self._lost:
            return "finished"
        if self._hub.closing:
            return "drained"
        return "expired" if self._leaves() == "expired" else None

    async def _deliver(self, frames: Sequence[Frame]) -> None:
        asked, partition = self._asked, self._reading.partition
        await self._tell_gap()
        frames = [frame for frame in frames if self._wanted.takes(frame.message)]
        for piece in _pieces(frames):
            self._over = self._wanted.ends_with(piece[-1])
            shown = folded(asked.dialect, piece) if asked.folded else piece
            data = b"".join(asked.framing.frame(asked.dialect, partition, frame) for frame in shown)
            self._sent.add(len(shown), len(data))
            await self._send(data)
            self._reading.standing = piece[-1].id(partition)

    async def _tell_gap(self) -> None:
        """Send a notice if something is missing. Only in server-sent events could a client take it for a payload."""
        if not self._reading.gap:
            return
        self._reading.gap = False
        framing, dialect, message = self._asked.framing, self._asked.dialect, self._asked.message
        if framing.name != SSE.name or dialect.tells_gaps == "event":
            await self._send(framing.notice("gap", {"to": str(self._reading.standing)}))
        elif dialect.tells_gaps == "error" and any(message == name for name, *_ in self._reading.view.given_up):
            said = Renderer(dialect).render(LOST)
            await self._send(b"".join(server_sent(payload, dialect) for payload in said))
            self._lost = True

    async def _lead_on(self, position: Position) -> None:
        """Send a client its new place, without a frame."""
        self._reading.standing = position
        if self._asked.dialect.tells_gaps != "never":
            await self._send(self._asked.framing.opening(position))

    async def _send(self, data: bytes) -> None:
        self._sent_at = time.monotonic()
        await self._pipe.send(data)

    @property
    def _finished(self) -> bool:
        """Whether the requested messages have ended, and none has begun since."""
        message, view = self._wanted.message, self._reading.view
        if self._over is None:
            return self._reading.has_all(self._asked.message)
        return self._over and (message not in view.open_since() if message else view.idle)

    def _waits(self) -> Outcome | None:
        """Return why a client whose wait is limited may not stay at the head; None if it may."""
        return "expired" if time.monotonic() > self._asked.waits_until else self._leaves()

    async def _had_all(self) -> Outcome:
        """Lead on a client that came back after the end, if that was found too late to answer 204."""
        outcome = self._leaves() or "finished"
        if outcome == "finished":
            await self._lead_on(self._reading.led_on())
        return outcome

    async def _live(self) -> Outcome:
        """Wait at the head until something ends that. No await lies between the last frame of the past and this."""
        asked, reading = self._asked, self._reading
        if reading.lost:
            return "lost"
        if asked.until_finish and self._finished:
            return "finished" if self._over else await self._had_all()
        outbox = Outbox(self._pipe, self._settings.buffer_kib * 1024, self._settings.stall_s, self._flusher.dirty)
        stream = Stream(
            outbox,
            reading.place,
            self._wanted,
            until_finish=asked.until_finish,
            leaves=self._leaves if asked.waits_until == math.inf else self._waits,
            heartbeat=asked.framing.heartbeat,
        )
        self._hub.attach(self._subject, reading.view, stream)
        self._flusher.add(stream)
        try:
            outcome = await stream.over
        finally:
            self._hub.detach(self._subject, stream)
            self._flusher.remove(stream)
        if stream.last is not None:
            reading.standing = stream.last.id(reading.partition)
        if outcome in ("finished", "back", "moved"):
            while piece := outbox.piece():  # bytes that its socket has not taken yet
                await self._send(piece)
        if outcome == "back":
            await reading.go_back(stream.place, stream.opened, stream.missing)
        return outcome


def _pieces(frames: Sequence[Frame]) -> Iterator[Sequence[Frame]]:
    """Split frames into what is written at once: one turn may read more of the past than a client takes in a moment."""
    begin, size = 0, 0
    for number, frame in enumerate(frames):
        size += len(frame.payload)
        if size > TURN_BYTES and number > begin:
            yield frames[begin:number]
            begin, size = number, len(frame.payload)
    if begin < len(frames):
        yield frames[begin:]
