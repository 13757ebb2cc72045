"""The objects that all routes of the front share, and the streaming of an answer."""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
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
from tokenmill.front.clocks import CLOCKS_MS, Clocks
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


class AnswerRef(NamedTuple):
    """A reference to an answer: its conversation and id, and when it was asked for, in milliseconds since the epoch."""

    conversation: str
    message_id: str
    time_ms: int


@dataclass(frozen=True)
class RouteContext:
    """The objects that the routes of a process share, and what several of them do."""

    config: Config
    models: Mapping[str, Served]
    serving: StreamService
    admission: Admission
    requests: Requests
    readers: Readers
    stops: Stops
    numbers: Numbers
    clocks: Clocks

    @asynccontextmanager
    async def following(
        self,
        conversation: str,
        message_id: str,
        start: Start,
        grant: Grant,
        starts: Callable[[bytes], None] = lambda _: None,
    ) -> AsyncIterator[Following]:
        """Follow a message from a place in the log inside a block. Raises `Refused` and `Unavailable`.

        No event has been read when the block begins.
        """
        first_event = self.numbers.histograms["tokenmill_front_first_event_seconds"].observe
        async with self.serving.prepared(native(conversation, start), grant.name) as prepared:
            yield Following(self.serving.hub, prepared.reading, message_id, first_event, starts)

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
        """Stream an answer in the dialect of its API, as it comes. Raises `Refused` and `Unavailable`.

        A stream whose answer is not over in time gets an error at its end and is cut off: there may be no caller left
        that ends the answer.
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
        """Return the seconds for which a client still waits for an answer."""
        return ref.time_ms / 1000 + self.config.front.answer_s + MORE_S - time.time()


def place_of(conversation: str, message_id: str) -> dict[str, str]:
    """Return headers with an answer's conversation and id, for clients that follow it through a gateway.

    A conversation id that does not fit into a header is percent-encoded as in a URL.
    """
    fits = conversation.isascii() and conversation.isprintable()
    return {"x-conversation-id": conversation if fits else quote(conversation, safe=""), "tm-message-id": message_id}


def too_late(api: Api) -> bytes:
    """Return the last bytes of a stream whose answer was not over in time: an error in the dialect of its API."""
    dialect = find_dialect(api.dialect)
    payloads = Renderer(dialect).render(Error(code="upstream", message=TOO_LATE, status=HTTPStatus.GATEWAY_TIMEOUT))
    return b"".join(server_sent(payload, dialect) for payload in payloads)


def since(time_ms: int) -> Since:
    """Return where reading begins for an answer that was asked for at this time, in milliseconds since the epoch."""
    return Since(max(0, time_ms - CLOCKS_MS))
