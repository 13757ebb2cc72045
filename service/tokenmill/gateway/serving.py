"""From a checked request to a stream: first what is in the log, then what comes, until it ends for some reason."""

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import aclosing

import msgspec
from aiohttp import web

from tokenmill.config import Gateway
from tokenmill.gateway.asked import Asked
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.flusher import Flusher
from tokenmill.gateway.http_pipe import HttpPipe
from tokenmill.gateway.hub import Hub, Subject
from tokenmill.gateway.outbox import Outbox
from tokenmill.gateway.past import Past
from tokenmill.gateway.position import Position
from tokenmill.gateway.problems import GONE, Refused
from tokenmill.gateway.reading import Gone, Lookback, Reading
from tokenmill.gateway.stream import Outcome, Stream
from tokenmill.gateway.tail import Tail
from tokenmill.gateway.view import Frame

PEEK_S = 2.0
"""How long a client that comes back may wait for headers: so long is looked whether there is anything for it at all."""

RETRY_MS = (500, 5_000)
"""Between these a client is told to wait before it comes back: EventSources have no jitter of their own, so all clients
of a process that ends would come at once."""

GOODBYE_S = 0.05
"""For the last words to leave before the connection is reset, which throws away what is on its way."""


class Serving:
    """What all streams of the process share."""

    def __init__(
        self,
        settings: Gateway,
        tail: Tail,
        past: Past,
        hub: Hub,
        flusher: Flusher,
        counts: Counts | None = None,
    ) -> None:
        self.settings = settings
        self.tail = tail
        self.past = past
        self.hub = hub
        self.flusher = flusher
        self.counts = counts or Counts()
        self._lookback = Lookback(settings.lookback_s, settings.lookback_records)

    async def serve(self, request: web.Request, asked: Asked, headers: dict[str, str]) -> web.StreamResponse:
        """Answer with the stream. Raises `Refused`, and `Unavailable` where Kafka does not answer."""
        try:
            return await self._stream(request, asked, headers, gap=False)
        except Gone as problem:
            if not asked.comes_back:
                raise Refused(
                    GONE, "the log no longer has this position; begin with from=start or from=now"
                ) from problem
        return await self._stream(request, msgspec.structs.replace(asked, start="start"), headers, gap=True)

    async def _stream(
        self, request: web.Request, asked: Asked, headers: dict[str, str], *, gap: bool
    ) -> web.StreamResponse:
        start = asked.start
        partition = start.partition if isinstance(start, Position) else self.tail.partition_of(asked.key)
        if partition >= self.tail.partitions:
            raise Gone
        async with self.tail.window(partition) as window:
            reading = Reading(self.past, window, asked.key, asked.dialect, partition)
            reading.gap = gap
            await reading.begin(start, self._lookback, int(time.time() * 1000))
            peeked = await self._peek(reading) if isinstance(start, Position) else ()
            if asked.until_finish and peeked is None and reading.answered:
                return web.Response(status=204)  # an EventSource would come back for ever
            response = web.StreamResponse(headers={**asked.framing.headers, **headers})
            try:
                pipe = await HttpPipe.opened(request, response, self.settings.stall_s)
                await Attendance(self, asked, reading, pipe).attend(peeked or ())
            except (ConnectionError, TimeoutError):
                return response  # the client left, or takes nothing: it comes back with its id
        return response

    @staticmethod
    async def _peek(reading: Reading) -> Sequence[Frame] | None:
        """The next frames; None if there are none up to the head. Raises `Gone`."""
        until = time.monotonic() + PEEK_S
        async with aclosing(reading.frames()) as batches:
            async for frames in batches:
                if frames or time.monotonic() > until:
                    return frames
        return None


class Attendance:
    """One client from its first byte to its last."""

    def __init__(self, serving: Serving, asked: Asked, reading: Reading, pipe: HttpPipe) -> None:
        self._serving = serving
        self._asked = asked
        self._reading = reading
        self._pipe = pipe
        self._subject = Subject(reading.partition, asked.key, asked.dialect, asked.framing)
        self._sent_at = time.monotonic()
        self._over = False

    async def attend(self, peeked: Sequence[Frame]) -> None:
        """Until the stream is over. Raises `ConnectionError` and `TimeoutError` for a client that is gone or stuck."""
        await self._send(self._asked.framing.opening(self._reading.standing))
        await self._tell(peeked)
        outcome: Outcome = "back"
        while outcome == "back":
            await self._catch_up()
            outcome = await self._live()
        if outcome != "finished":
            await self._reset()

    async def _catch_up(self) -> None:
        async with aclosing(self._reading.frames()) as batches:
            async for frames in batches:
                await self._tell(frames)
                if time.monotonic() - self._sent_at > self._serving.settings.heartbeat_s:
                    await self._send(self._asked.framing.heartbeat)

    async def _tell(self, frames: Sequence[Frame]) -> None:
        framing, partition = self._asked.framing, self._reading.partition
        if self._reading.gap:
            self._reading.gap = False
            await self._send(framing.notice("gap", {"to": str(self._reading.standing)}))
        if frames:
            self._over = frames[-1].last
            await self._send(b"".join(framing.frame(self._asked.dialect, partition, frame) for frame in frames))

    async def _send(self, data: bytes) -> None:
        self._sent_at = time.monotonic()
        await self._pipe.send(data)

    async def _live(self) -> Outcome:
        """At the head, until something ends that. No await lies between the last frame of the past and this."""
        if self._asked.until_finish and self._over and self._reading.view.idle:
            return "finished"
        serving, settings = self._serving, self._serving.settings
        outbox = Outbox(self._pipe, settings.buffer_kib * 1024, settings.stall_s, serving.flusher.dirty)
        stream = Stream(outbox, self._reading.place, until_finish=self._asked.until_finish)
        serving.hub.attach(self._subject, self._reading.view, stream)
        serving.flusher.add(stream, self._asked.framing.heartbeat)
        try:
            outcome = await stream.over
        finally:
            serving.hub.detach(self._subject, stream)
            serving.flusher.remove(stream)
        outbox.flush(asyncio.get_running_loop().time())
        if outcome == "back":
            await self._reading.go_back(stream.place, stream.opened)
        return outcome

    async def _reset(self) -> None:
        self._pipe.write(self._asked.framing.goodbye(random.randint(*RETRY_MS)))  # noqa: S311 -- jitter is no secret
        await asyncio.sleep(GOODBYE_S)
        self._pipe.reset()
