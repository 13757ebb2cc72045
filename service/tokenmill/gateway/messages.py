"""`GET /v1/conversations/{conversation}/messages/{message}/events`: one message, from its start to its end.

1. It ends with the message, in the way of its dialect, whatever else goes on in the conversation; `from` and
   `Last-Event-ID` are as for all events.
2. A message that is not in the log, as far as it is looked back, is a 404. Who asks before it can have begun says
   `wait=true`.
"""

from aiohttp import web

from tokenmill.gateway.admission import Admission
from tokenmill.gateway.asked import asked, identifier
from tokenmill.gateway.problems import BAD_REQUEST, NOT_FOUND, Refused, shown
from tokenmill.gateway.reading import Reading
from tokenmill.gateway.serving import Serving

PATH = "/v1/conversations/{conversation}/messages/{message}/events"

MISSING = "the log has no such message as far back as is looked; with wait=true it is waited for"


class Messages:
    """The route."""

    def __init__(self, serving: Serving, admission: Admission) -> None:
        self._serving = serving
        self._admission = admission

    def routes(self) -> list[web.RouteDef]:
        """For the application."""
        return [web.get(PATH, self.get, allow_head=False)]

    async def get(self, request: web.Request) -> web.StreamResponse:
        """The message's events as a stream."""
        message = identifier(request.match_info["message"], "a message's id")
        wanted = asked(request, request.match_info["conversation"], start="start").only(message.encode())
        wait = _waits(request.query.get("wait", "false"))
        grant = await self._admission.check(request, wanted.conversation, "read")
        with self._admission.place(grant):
            async with self._serving.begun(wanted, grant.name) as begun:
                if begun.peeked is None and not wait and _missing(begun.reading, wanted.message):
                    raise Refused(NOT_FOUND, MISSING)
                return await self._serving.answer(request, wanted, {}, self._admission.held(grant), begun)


def _missing(reading: Reading, message: bytes) -> bool:
    """Whether nothing is known of it. Of a client that was led on from its end the place alone says that it had it."""
    return not reading.view.knows(message) and not reading.has_all(message)


def _waits(word: str) -> bool:
    if word not in ("true", "false"):
        raise Refused(BAD_REQUEST, f"wait is {shown(word)}; expected true or false")
    return word == "true"
