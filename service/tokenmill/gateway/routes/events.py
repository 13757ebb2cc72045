"""Events as a stream over HTTP: of a conversation, or of one of its messages.

1. `GET /v1/conversations/{conversation}/events` has all messages, from the place that the client names.
2. `GET /v1/conversations/{conversation}/messages/{message}/events` has one message from its start, and ends with it in
   the way of its dialect, whatever else happens in the conversation; `from` and `Last-Event-ID` are as for all events.
   A message that is not in the log, as far back as the gateway looks, is a 404. A client that may ask before the
   message begins sends `wait=true`.
3. An `EventSource` never tries again after a status other than 200. It sends the header `Last-Event-ID` when it comes
   back: then a temporary refusal (429, 503) becomes a stream that is cut off immediately.
"""

import logging
from collections.abc import Awaitable

from aiohttp import hdrs, web

from tokenmill.errors import Unavailable
from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.event_log.reading import Reading
from tokenmill.gateway.http.request_values import identifier
from tokenmill.gateway.problems import BAD_REQUEST, NOT_FOUND, PASSING, UNAVAILABLE, Refused, shown
from tokenmill.gateway.streams.service import StreamService
from tokenmill.gateway.streams.stream_request import LAST_EVENT_ID, read_request

log = logging.getLogger(__name__)

CONVERSATION = "/v1/conversations/{conversation}/events"
MESSAGE = "/v1/conversations/{conversation}/messages/{message}/events"

MISSING = "the searched part of the log has no such message; add wait=true to wait for it"


class EventRoutes:
    """Answers requests for either with a stream, in the framing and the dialect that the client asks for."""

    def __init__(self, serving: StreamService, admission: Admission) -> None:
        self._serving = serving
        self._admission = admission

    def routes(self) -> list[web.RouteDef]:
        """Return the routes for the application. A HEAD would open a stream that nobody reads."""
        return [
            web.get(CONVERSATION, self.get_conversation, allow_head=False),
            web.get(MESSAGE, self.get_message, allow_head=False),
        ]

    async def get_conversation(self, request: web.Request) -> web.StreamResponse:
        """Answer with the conversation's events as a stream."""
        return await self._answered(request, self._conversation(request))

    async def get_message(self, request: web.Request) -> web.StreamResponse:
        """Answer with the message's events as a stream."""
        return await self._answered(request, self._one_message(request))

    async def _answered(self, request: web.Request, answer: Awaitable[web.StreamResponse]) -> web.StreamResponse:
        """Return the answer; for an EventSource that has come back, a cut stream in place of a temporary refusal."""
        try:
            return await answer
        except (Refused, Unavailable) as problem:
            kind = problem.kind if isinstance(problem, Refused) else UNAVAILABLE
            if kind.status not in PASSING or not _comes_back_by_itself(request):
                raise
            log.warning("telling an EventSource of %s to come back later: %s", shown(request.path), problem)
            self._serving.counts.refused(kind)
            return await self._serving.send_back(request)

    async def _conversation(self, request: web.Request) -> web.StreamResponse:
        wanted = read_request(request, request.match_info["conversation"])
        grant = await self._admission.check(request, wanted.conversation, "read")
        with self._admission.slot(grant):
            async with self._serving.prepared(wanted, grant.name) as prepared:
                return await self._serving.answer(request, wanted, {}, self._admission.held(grant), prepared)

    async def _one_message(self, request: web.Request) -> web.StreamResponse:
        message = identifier(request.match_info["message"], "a message's id")
        wanted = read_request(request, request.match_info["conversation"], start="start").only(message.encode())
        wait = _waits(request.query.get("wait", "false"))
        grant = await self._admission.check(request, wanted.conversation, "read")
        with self._admission.slot(grant):
            async with self._serving.prepared(wanted, grant.name) as prepared:
                if prepared.peeked is None and not wait and _missing(prepared.reading, wanted.message):
                    raise Refused(NOT_FOUND, MISSING)
                return await self._serving.answer(request, wanted, {}, self._admission.held(grant), prepared)


def _comes_back_by_itself(request: web.Request) -> bool:
    return LAST_EVENT_ID in request.headers and "text/event-stream" in request.headers.get(hdrs.ACCEPT, "")


def _missing(reading: Reading, message: bytes) -> bool:
    """Whether neither the records read nor the client's place, which may lie after its end, show the message."""
    return not reading.view.knows(message) and not reading.has_all(message)


def _waits(word: str) -> bool:
    if word not in ("true", "false"):
        raise Refused(BAD_REQUEST, f"wait is {shown(word)}; expected true or false")
    return word == "true"
