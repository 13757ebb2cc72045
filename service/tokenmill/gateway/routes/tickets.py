"""`POST /v1/conversations/{conversation}/ticket`: a ticket for a URL, for clients that can't send headers."""

from typing import Literal

import msgspec
from aiohttp import web

from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.auth.authorizer import TicketAuthorizer
from tokenmill.gateway.auth.connection_limits import ConnectionLimits
from tokenmill.gateway.http.request_body import decoded, whole_body
from tokenmill.gateway.http.request_values import conversation_id

PATH = "/v1/conversations/{conversation}/ticket"

NO_TICKET = 'expected no body, or JSON such as {"actions": ["read"]}'
"""Of a body that asks for no ticket."""


class TicketAsked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a requested ticket is to allow."""

    actions: tuple[Literal["read", "stop"], ...] = ("read",)


class TicketMade(msgspec.Struct, frozen=True):
    """A ticket, for the parameter `ticket` of a URL."""

    ticket: str
    expires_in: int
    """Seconds within which it opens connections. Open ones stay."""


class TicketRoutes:
    """Makes tickets for clients that may do what the ticket allows.

    Args:
        authorizer: makes the tickets.
        admission: checks the clients' rights.
        lifetime_s: a ticket's lifetime.
        limits: slots for bodies, separate from those of readers: otherwise readers with tickets would keep their site
            from getting more tickets.
    """

    def __init__(
        self, authorizer: TicketAuthorizer, admission: Admission, lifetime_s: int, limits: ConnectionLimits
    ) -> None:
        self._authorizer = authorizer
        self._admission = admission
        self._lifetime_s = lifetime_s
        self._limits = limits

    def routes(self) -> list[web.RouteDef]:
        """Return the routes for the application."""
        return [web.post(PATH, self.post)]

    async def post(self, request: web.Request) -> web.Response:
        """Answer with a ticket, if the client may do what it allows."""
        conversation = conversation_id(request.match_info["conversation"])
        grant = await self._admission.check(request, conversation, "read")
        with self._limits.taken(grant):
            body = await whole_body(request)
        asked = decoded(body, TicketAsked, NO_TICKET) if body.strip() else TicketAsked()
        first, *more = asked.actions or ("read",)
        ticket = self._authorizer.ticket(grant, conversation, first, *more)
        made = msgspec.json.encode(TicketMade(ticket, self._lifetime_s))
        return web.Response(body=made, content_type="application/json", headers={"cache-control": "no-store"})
