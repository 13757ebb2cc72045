"""`POST /v1/conversations/{conversation}/ticket`: a ticket for a URL, for who can't send headers where it is needed."""

from typing import Literal

import msgspec
from aiohttp import web

from tokenmill.errors import NOT_JSON
from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.auth.authorizer import TicketAuthorizer
from tokenmill.gateway.auth.connection_limits import ConnectionLimits
from tokenmill.gateway.http.request_body import whole_body
from tokenmill.gateway.http.request_values import conversation_id
from tokenmill.gateway.problems import BAD_REQUEST, Refused

PATH = "/v1/conversations/{conversation}/ticket"


class TicketAsked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the ticket is to be good for."""

    actions: tuple[Literal["read", "stop"], ...] = ("read",)


class TicketMade(msgspec.Struct, frozen=True):
    """A ticket, for the parameter `ticket` of a URL."""

    ticket: str
    expires_in: int
    """Seconds in which a connection has to be opened with it. One that is open stays."""


class TicketRoutes:
    """Makes a ticket for whoever may do what it is for.

    Args:
        authorizer: what makes tickets.
        admission: whom to let in.
        lifetime_s: of a ticket.
        limits: of the bodies. Their slots are none of those that readers have: who reads with tickets would keep their
            site from getting any more of them.
    """

    def __init__(
        self, authorizer: TicketAuthorizer, admission: Admission, lifetime_s: int, limits: ConnectionLimits
    ) -> None:
        self._authorizer = authorizer
        self._admission = admission
        self._lifetime_s = lifetime_s
        self._limits = limits

    def routes(self) -> list[web.RouteDef]:
        """For the application."""
        return [web.post(PATH, self.post)]

    async def post(self, request: web.Request) -> web.Response:
        """A ticket, for somebody who may do what it is for."""
        conversation = conversation_id(request.match_info["conversation"])
        grant = await self._admission.check(request, conversation, "read")
        with self._limits.taken(grant):
            first, *more = _asked(await whole_body(request)).actions or ("read",)
        ticket = self._authorizer.ticket(grant, conversation, first, *more)
        made = msgspec.json.encode(TicketMade(ticket, self._lifetime_s))
        return web.Response(body=made, content_type="application/json", headers={"cache-control": "no-store"})


def _asked(body: bytes) -> TicketAsked:
    """What the body says. Raises `Refused`."""
    try:
        return msgspec.json.decode(body, type=TicketAsked) if body.strip() else TicketAsked()
    except NOT_JSON as problem:
        raise Refused(BAD_REQUEST, f'expected nothing, or JSON such as {{"actions": ["read"]}}: {problem}') from problem
