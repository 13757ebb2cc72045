"""From a checked request to a stream: first the past from the log, then new frames, until it ends for some reason.

An id names its partition, and what follows it is read there. If the topic has grown since, and nothing of the
conversation is left or open there, the client continues where the conversation does: from the time of its last frame,
however long ago that was.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing, suppress
from typing import Any, NamedTuple, Self

from aiohttp import web

from tokenmill.config import Gateway, Kafka
from tokenmill.errors import Unavailable
from tokenmill.gateway.auth.grant import Held, always
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.event_log.log_readers import ClientLogReader, LogReaders
from tokenmill.gateway.event_log.position import Position
from tokenmill.gateway.event_log.reading import Gone, Lookback, Reading, Since, Start
from tokenmill.gateway.event_log.tail import AWAY_S, Tail
from tokenmill.gateway.event_log.view import Frame
from tokenmill.gateway.event_log.window import Windows
from tokenmill.gateway.problems import GONE, Refused
from tokenmill.gateway.streams.flusher import Flusher
from tokenmill.gateway.streams.framing import SSE, drawn_retry_ms
from tokenmill.gateway.streams.http_pipe import HttpPipe
from tokenmill.gateway.streams.hub import Hub
from tokenmill.gateway.streams.outbox import Pipe
from tokenmill.gateway.streams.stream_request import StreamRequest
from tokenmill.gateway.streams.stream_session import StreamSession
from tokenmill.limits import MIB
from tokenmill.observe.gateway_table import Outcome
from tokenmill.observe.telemetry import NO_TELEMETRY, Telemetry
from tokenmill.process import Part

log = logging.getLogger(__name__)

PEEK_S = 2.0
"""Seconds that a returning client may wait for headers, while the gateway looks for frames for it. If it finds later
that there are none, the stream has an id after everything that was read."""

CLOCKS_MS = 60_000
"""Milliseconds by which the clocks of a topic's writers may differ: reading from a time begins that much earlier. On a
partition that a conversation has just moved to there is hardly more of it."""

GOODBYE_S = 0.05
"""Seconds for the last bytes to leave before the connection is reset, which discards what is on its way."""


class PreparedReading(NamedTuple):
    """A reading that has found where it begins, and its next frames, which decide the answer."""

    reading: Reading
    came_at: float
    """Time of the request, in monotonic seconds."""
    peeked: Sequence[Frame] | None = ()
    """None: there are none up to the log's head. Empty: none have come up yet, and the head is further on."""

    def nothing_comes(self, asked: StreamRequest) -> bool:
        """Whether the client has everything: it came back after the end of what it asked for."""
        return self.peeked is None and asked.until_finish and self.reading.has_all(asked.message)


async def peek(reading: Reading, message: bytes, seconds: float) -> Sequence[Frame] | None:
    """Return the next frames of a message, or of any if it is empty; None if there are none up to the head.

    After `seconds` it returns what it has, which may be nothing.
    """
    until = time.monotonic() + seconds
    async with aclosing(reading.frames()) as batches:
        async for frames in batches:
            wanted = [frame for frame in frames if message in (b"", frame.message)]
            if wanted or time.monotonic() > until:
                return wanted
    return None


class StreamService:
    """Prepares readings, and answers with streams: what all streams of the process share."""

    def __init__(
        self,
        settings: Gateway,
        tail: Tail,
        log_readers: LogReaders,
        hub: Hub,
        flusher: Flusher,
        counts: Counts | None = None,
        telemetry: Telemetry = NO_TELEMETRY,
    ) -> None:
        self.settings = settings
        self.tail = tail
        self.log_readers = log_readers
        self.hub = hub
        self.flusher = flusher
        self.counts = counts or Counts()
        self.telemetry = telemetry
        self.lookback = Lookback(settings.lookback_s, settings.lookback_records)

    @classmethod
    def of_topic(
        cls, kafka: Kafka, topic: str, settings: Gateway, counts: Counts, telemetry: Telemetry = NO_TELEMETRY
    ) -> Self:
        """Make everything that reads a topic for clients. Once its `tail` is started, its `parts` have to run."""
        hub, flusher = Hub(counts), Flusher(settings.flush_ms / 1000, settings.heartbeat_s, counts)
        tail = Tail(kafka, topic, Windows(settings.window_mib * MIB, settings.window_s), hub, flusher.told)
        log_readers = LogReaders(kafka, topic, settings.catch_up_readers)
        return cls(settings, tail, log_readers, hub, flusher, counts, telemetry)

    @property
    def parts(self) -> dict[str, Part]:
        """What has to run as long as clients are served."""
        return {"the reader of the log": self.tail.run, "the writer": self.flusher.run}

    async def stop(self) -> None:
        """Disconnect from Kafka, when no client reads any longer."""
        await self.log_readers.close()
        await self.tail.stop()

    def prepared(self, asked: StreamRequest, name: str = "") -> "_Beginning":
        """Return a block with a reading at the requested place, under the client's name.

        Entering it raises `Refused` and `Unavailable`.
        """
        return _Beginning(self, asked, self.log_readers.of(name))

    def away(self, old: Reading) -> bool:
        """Whether a conversation continues on another partition than the one that was read up to the head."""
        return old.view.idle and old.partition != self.tail.partition_of(old.key)

    async def onward(self, asked: StreamRequest, old: Reading, grown_ms: float = -math.inf) -> Position:
        """Return the place where a client that has all of the old partition continues.

        `grown_ms` is a time before the topic grew. Raises `Unavailable`.
        """
        beginning = _Beginning(self, asked, old.reader)
        try:
            return (await beginning.elsewhere(old, grown_ms)).standing
        finally:
            beginning.unpin()

    async def answer(
        self,
        request: web.Request,
        asked: StreamRequest,
        headers: dict[str, str],
        held: Held,
        prepared: PreparedReading,
        finished: Callable[[], None] = lambda: None,
    ) -> web.StreamResponse:
        """Answer with the stream that was begun; `finished` is called once all of it is written."""
        if prepared.nothing_comes(asked):
            return web.Response(status=204)  # an EventSource would come back for ever
        response = web.StreamResponse(headers={**asked.framing.headers, **headers})
        with suppress(ConnectionError):  # the client left
            pipe = await HttpPipe.opened(request, response, self.settings.stall_s)
            try:
                if await self.attend(asked, prepared, pipe, held) == "finished":
                    finished()  # before the end is sent: a client that has read it may be gone immediately
                    await pipe.finish()
                else:
                    late = asked.late if time.monotonic() > asked.waits_until else b""
                    goodbye = asked.framing.goodbye(drawn_retry_ms())
                    await _sent_back(pipe, late + goodbye)
            except (TimeoutError, Unavailable) as problem:
                # The client reads nothing, or its frames can't be read, and the answer has begun. Nothing is sent that
                # would look like its end, so it comes back with its id.
                log.info("a stream of partition %d was cut off: %r", prepared.reading.partition, problem)
                pipe.reset()
        return response

    async def send_back(self, request: web.Request) -> web.StreamResponse:
        """Answer with a stream of server-sent events that has only the pause before coming back, and is cut off."""
        response = web.StreamResponse(headers=SSE.headers)
        with suppress(ConnectionError):  # the client left
            pipe = await HttpPipe.opened(request, response, self.settings.stall_s)
            await _sent_back(pipe, SSE.goodbye(drawn_retry_ms()))
        return response

    def attend(
        self, asked: StreamRequest, prepared: PreparedReading, pipe: Pipe, held: Held = always
    ) -> Coroutine[Any, Any, Outcome]:
        """Write to a client of any transport until its stream is over, and return why.

        Raises `ConnectionError` and `TimeoutError` for a client that is gone or stuck.
        """
        self.counts.first_byte(time.monotonic() - prepared.came_at)
        self.telemetry.current().event("stream begun")
        leaves = _Leaves(self, asked, prepared.reading, held)
        session = StreamSession(
            self.settings, self.hub, self.flusher, self.counts, asked, prepared.reading, pipe, leaves
        )
        return session.attend(prepared.peeked or ())


class _Beginning:
    """A block with a reading, whose windows are kept. It is not a generator, which would take two kilobytes for each
    open stream.
    """

    __slots__ = ("_asked", "_pins", "_reader", "_serving")

    def __init__(self, serving: StreamService, asked: StreamRequest, reader: ClientLogReader) -> None:
        self._serving = serving
        self._asked = asked
        self._reader = reader
        self._pins: list[int] = []
        """Partitions whose windows are needed."""

    async def __aenter__(self) -> PreparedReading:
        try:
            return await self._begin()
        except BaseException:
            self.unpin()
            raise

    async def __aexit__(self, *_: object) -> None:
        self.unpin()

    def unpin(self) -> None:
        """Release the windows."""
        for partition in self._pins:
            self._serving.tail.unpin(partition)

    async def _begin(self) -> PreparedReading:
        """Return a reading at the requested place. Raises `Refused` and `Unavailable`."""
        asked = self._asked
        try:
            prepared = await self._begin_at(asked.start)
        except Gone as problem:
            if not (asked.comes_back or asked.found):
                why = "the log no longer has this position; begin again with from=start or from=now"
                raise Refused(GONE, why) from problem
            prepared = await self._begin_at("start")
            prepared.reading.gap = True
        if isinstance(asked.start, Position) and not asked.found:
            how = "gap" if prepared.reading.gap else "window" if prepared.reading.from_window else "log"
            self._serving.counts.resumed(how)
        return prepared

    async def _begin_at(self, start: Start) -> PreparedReading:
        asked, came_at = self._asked, time.monotonic()
        if not isinstance(start, Position):
            reading = await self._reading(self._serving.tail.partition_of(asked.key), start)
            peeked = await peek(reading, asked.message, math.inf) if asked.message else ()
            return PreparedReading(reading, came_at, peeked)
        reading = await self._reading(start.partition, start)
        peeked = await peek(reading, asked.message, PEEK_S)
        if peeked is None and self._serving.away(reading):  # the reading may have found that the topic has grown
            reading = await self.elsewhere(reading)
            peeked = await peek(reading, asked.message, PEEK_S)
        return PreparedReading(reading, came_at, peeked)

    async def elsewhere(self, old: Reading, grown_ms: float = -math.inf) -> Reading:
        """Return a reading of the conversation on another partition, for a client that has all of the old one.

        The records there are later than those that the client has, and than the growth of the topic.
        """
        at = old.standing
        time_ms = int(max(await self._reader.time_before(at.partition, at.offset + bool(at.part)), grown_ms))
        reading = await self._reading(self._serving.tail.partition_of(old.key), Since(max(0, time_ms - CLOCKS_MS)))
        reading.standing = reading.standing._replace(back=int(old.has_all(self._asked.message)))
        return reading

    async def _reading(self, partition: int, start: Start) -> Reading:
        """Return a reading that has found where it begins. Raises `Gone` and `Unavailable`."""
        serving, asked = self._serving, self._asked
        if not await serving.tail.has(partition):
            raise Gone
        window = await serving.tail.pin(partition)
        self._pins.append(partition)
        reading = Reading(self._reader, window, asked.key, asked.dialect, partition, asked.message)
        await reading.begin(start, serving.lookback, int(time.time() * 1000))
        return reading


class _Leaves:
    """Finds out whether a client has to leave: its rights have ended, or the topic has grown, so that the conversation
    continues on another partition and nothing of it is open on this one.
    """

    __slots__ = ("_asked", "_away", "_grown_ms", "_held", "_known", "_reading", "_serving")

    def __init__(self, serving: StreamService, asked: StreamRequest, reading: Reading, held: Held) -> None:
        self._serving = serving
        self._asked = asked
        self._reading = reading
        self._held = held
        self._known, self._away = 0, False
        self._grown_ms = -math.inf
        """A time before which the topic had not grown: a client that has waited for days need not look back for
        days."""

    def __call__(self) -> Outcome | None:
        tail, key, partition = self._serving.tail, self._reading.key, self._reading.partition
        if self._known != tail.partitions:  # a hash in every second of each client would cost a tenth of a core
            if self._known:
                self._grown_ms = (time.time() - AWAY_S) * 1000
            self._known, self._away = tail.partitions, tail.partition_of(key) != partition
        if not self._held():
            return "expired"
        return "moved" if self._away and not self._serving.hub.open_messages(partition, key) else None

    async def onward(self) -> Position:
        """Return the place where the client then continues."""
        return await self._serving.onward(self._asked, self._reading, self._grown_ms)


async def _sent_back(pipe: HttpPipe, goodbye: bytes) -> None:
    pipe.write(goodbye)
    await asyncio.sleep(GOODBYE_S)
    pipe.reset()
