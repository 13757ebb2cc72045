"""What all routes of the front share."""

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import quote

from aiohttp import web

from tokenmill.apis import Api
from tokenmill.caller.failure import TOO_LATE
from tokenmill.caller.served import Served
from tokenmill.config import Config
from tokenmill.dialects import Renderer, find_dialect
from tokenmill.dialects.server_sent import server_sent
from tokenmill.events import Error
from tokenmill.front.following import Following, native
from tokenmill.front.readers import Reader, Readers
from tokenmill.front.requests import Requests
from tokenmill.front.stops import Stops
from tokenmill.front.whole import MORE_S
from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.auth.grant import Grant
from tokenmill.gateway.event_log.reading import Since, Start
from tokenmill.gateway.streams.framing import SSE, Framing
from tokenmill.gateway.streams.service import StreamService
from tokenmill.gateway.streams.stream_request import StreamRequest
from tokenmill.observe import Numbers

CLOCKS_MS = 5_000
"""Milliseconds by which the clocks of fronts and callers may differ. An answer is looked for this much earlier."""


class AnswerRef(NamedTuple):
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
    ) -> AsyncIterator[Following]:
        """A message's events from a place on; none of them was read. Raises `Unavailable`."""
        first_event = self.numbers.histograms["tokenmill_front_first_event_seconds"].observe
        async with self.serving.prepared(native(conversation, start), grant.name) as prepared:
            yield Following(self.serving.hub, prepared.reading, message_id, first_event)

    async def streamed(
        self,
        request: web.Request,
        api: Api,
        ref: AnswerRef,
        start: Start,
        grant: Grant,
        reader: Reader,
        framing: Framing = SSE,
    ) -> web.StreamResponse:
        """The answer as it comes, in the dialect of its API.

        An answer that is not over in its time ends with an error and is cut off: there may be no caller to end it.
        """
        asked = StreamRequest(
            ref.conversation,
            find_dialect(api.dialect),
            framing,
            start=start,
            waits_until=time.monotonic() + self._left_s(ref),
            late=too_late(api),
        ).only(ref.message_id.encode())

        def finished() -> None:
            reader.done = True

        async with self.serving.prepared(asked, grant.name) as prepared:
            headers = place_of(ref.conversation, ref.message_id)
            return await self.serving.answer(request, asked, headers, self.admission.held(grant), prepared, finished)

    def _left_s(self, ref: AnswerRef) -> float:
        """Seconds for which an answer may still come."""
        return ref.time_ms / 1000 + self.config.front.answer_s + MORE_S - time.time()


def place_of(conversation: str, message_id: str) -> dict[str, str]:
    """Return headers that say where an answer is, for clients that follow it through a gateway. A conversation whose id
    does not fit into a header is quoted as in a URL.
    """
    fits = conversation.isascii() and conversation.isprintable()
    return {"x-conversation-id": conversation if fits else quote(conversation, safe=""), "tm-message-id": message_id}


def too_late(api: Api) -> bytes:
    """Return the end of a stream whose answer was not over in time, in the words of its API."""
    dialect = find_dialect(api.dialect)
    said = Renderer(dialect).render(Error(code="upstream", message=TOO_LATE, status=HTTPStatus.GATEWAY_TIMEOUT))
    return b"".join(server_sent(payload, dialect) for payload in said)


def since(time_ms: int) -> Since:
    """Return where to look for an answer that was asked for at this time."""
    return Since(max(0, time_ms - CLOCKS_MS))
