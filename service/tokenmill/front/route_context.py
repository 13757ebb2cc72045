"""What all routes of the front share."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple
from urllib.parse import quote

import msgspec
from aiohttp import web

from tokenmill.apis import Api
from tokenmill.caller.failure import TOO_LATE
from tokenmill.caller.served import Served
from tokenmill.config import Config
from tokenmill.dialects import Renderer, find_dialect
from tokenmill.dialects.server_sent import server_sent
from tokenmill.events import Error, decode_event
from tokenmill.front.failure import LATE, Opening
from tokenmill.front.following import Following, native
from tokenmill.front.readers import Read, Readers
from tokenmill.front.requests import Requests
from tokenmill.front.stops import Stops
from tokenmill.front.whole import MORE_S
from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.auth.grant import Grant
from tokenmill.gateway.event_log.position import Position
from tokenmill.gateway.event_log.reading import Since, Start
from tokenmill.gateway.streams.framing import SSE, Framing
from tokenmill.gateway.streams.service import StreamService
from tokenmill.gateway.streams.stream_request import StreamRequest
from tokenmill.observe import Numbers

CLOCKS_MS = 5_000
"""By how much the clocks of fronts and callers may differ: so much earlier an answer is looked for."""


class Told(msgspec.Struct):
    """How far the first events of an answer were read."""

    asked_at: float
    """When it was asked for, in monotonic seconds."""
    opening: Opening
    start: Position
    """In front of its first event, or where that will be."""
    begun: bool = False
    """An event was read."""


class Sought(NamedTuple):
    """An answer: where it is, and when it was asked for."""

    conversation: str
    message_id: str
    time_ms: int


class RouteContext:
    """What the routes of one process need, and what they do alike."""

    def __init__(
        self,
        config: Config,
        models: Mapping[str, Served],
        serving: StreamService,
        admission: Admission,
        requests: Requests,
        readers: Readers,
        stops: Stops,
        numbers: Numbers,
    ) -> None:
        self.config = config
        self.models = models
        self.serving = serving
        self.admission = admission
        self.requests = requests
        self.readers = readers
        self.stops = stops
        self.numbers = numbers

    @asynccontextmanager
    async def following(
        self, conversation: str, message_id: str, start: Start, grant: Grant
    ) -> AsyncIterator[tuple[Following, Told]]:
        """A message's events from a place on; nothing of them was read. Raises `Unavailable`."""
        async with self.serving.prepared(native(conversation, start), grant.name) as prepared:
            following = Following(self.serving.hub, prepared.reading, message_id)
            yield following, Told(time.monotonic(), Opening(), prepared.reading.standing)

    async def opened(self, following: Following, told: Told, within_s: float) -> None:
        """Read until it is known how to answer, or so long. Raises `Unavailable`."""
        try:
            async with asyncio.timeout(within_s):
                await self._opened(following, told)
        except TimeoutError:
            return

    async def _opened(self, following: Following, told: Told) -> None:
        async for frame in following.frames():
            if not told.begun:
                told.start = told.start._replace(partition=told.start.partition, offset=frame.offset, part=0, back=0)
            told.begun = True
            if told.opening.take(decode_event(frame.payload)):
                if told.opening.content:
                    self.begins(told)
                return
            if frame.ends:
                return

    @asynccontextmanager
    async def waited_for(self, following: Following, told: Told) -> AsyncIterator[None]:
        """A block in which the answer is told; it is noticed when its first event comes, if that has not come yet."""
        if told.opening.content:
            yield
            return
        waiting = asyncio.create_task(self._opened(following, told))
        try:
            yield
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    def begins(self, told: Told) -> None:
        """Measure how long the first event of an answer took, which is there now."""
        self.numbers.histograms["tokenmill_front_first_event_seconds"].observe(time.monotonic() - told.asked_at)

    async def streamed(
        self,
        request: web.Request,
        api: Api,
        sought: Sought,
        start: Start,
        grant: Grant,
        read: Read,
        framing: Framing = SSE,
    ) -> web.StreamResponse:
        """The answer as it comes, in the dialect of its API.

        What is not over in its time is told so and cut off: nobody may answer it, and its client would wait for ever.
        """
        asked = StreamRequest(
            sought.conversation,
            find_dialect(api.dialect),
            framing,
            start=start,
            waits_until=time.monotonic() + self._left_s(sought),
            late=too_late(api),
        ).only(sought.message_id.encode())

        def finished() -> None:
            read.done = True

        async with self.serving.prepared(asked, grant.name) as prepared:
            headers = place_of(sought.conversation, sought.message_id)
            return await self.serving.answer(request, asked, headers, self.admission.held(grant), prepared, finished)

    def _left_s(self, sought: Sought) -> float:
        """For how many seconds an answer may still come."""
        return sought.time_ms / 1000 + self.config.front.answer_s + MORE_S - time.time()


def place_of(conversation: str, message_id: str) -> dict[str, str]:
    """Headers that say where an answer is, for who follows it through a gateway. A conversation whose id does not fit
    into a header is named as in a URL.
    """
    fits = conversation.isascii() and conversation.isprintable()
    return {"x-conversation-id": conversation if fits else quote(conversation, safe=""), "tm-message-id": message_id}


def too_late(api: Api) -> bytes:
    """What a stream says whose answer was not over in time, in the words of its API."""
    dialect = find_dialect(api.dialect)
    said = Renderer(dialect).render(Error(code="upstream", message=TOO_LATE, status=LATE))
    return b"".join(server_sent(payload, dialect) for payload in said)


def since(time_ms: int) -> Since:
    """From where on an answer is looked for that was asked for at this time."""
    return Since(max(0, time_ms - CLOCKS_MS))
