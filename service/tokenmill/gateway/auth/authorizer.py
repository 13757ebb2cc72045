"""Authorization: every request, subscription and write goes through `authorised`, with its conversation and action.

1. With a ticket in the URL, other credentials are ignored. A ticket's grant holds as long as the rights behind it.
2. An unknown client gets a 401, one that may not do this a 403, before anything of the conversation is read.
3. A connection that stays open asks `holds` now and then, and ends at `Grant.expires`.
"""

import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from aiohttp import web

from tokenmill.apis.record import OWN
from tokenmill.config import Gateway
from tokenmill.errors import ConfigError
from tokenmill.gateway.auth.api_keys import KeyAuthorizer
from tokenmill.gateway.auth.function import FunctionAuthorizer
from tokenmill.gateway.auth.grant import (
    CREDENTIAL_CHARACTERS,
    Action,
    Authorizer,
    Credentials,
    Grant,
    must_allow,
    unauthenticated,
)
from tokenmill.gateway.auth.tickets import Tickets

__all__ = [
    "Action",
    "Authorizer",
    "Credentials",
    "Grant",
    "TicketAuthorizer",
    "authorised",
    "credentials_of",
    "make_authorizer",
]

TICKET: Final = "ticket"
"""Name of the URL parameter."""

EVERYTHING: Final = Grant("", ("*", f"{OWN}*"), frozenset({"read", "stop", "write", "approve"}))


class AllowAll(Authorizer):
    """Allows everybody everything: used without `auth`, which is for the loopback interface only, see `config`."""

    async def grant(self, credentials: Credentials) -> Grant:  # noqa: ARG002 -- needs no credentials
        return EVERYTHING


class TicketAuthorizer(Authorizer):
    """Redeems tickets, or asks the configured authorizer; refuses expired grants; makes tickets."""

    def __init__(self, authorizer: Authorizer, tickets: Tickets, now: Callable[[], float] = time.time) -> None:
        self._authorizer = authorizer
        self._tickets = tickets
        self._now = now

    async def grant(self, credentials: Credentials) -> Grant:
        """Return what the client may do now. Raises `Refused`."""
        if max(len(credentials.ticket), len(credentials.key)) > CREDENTIAL_CHARACTERS:
            raise unauthenticated(
                "these credentials are longer than any key, token or ticket; send valid ones", "wrong"
            )
        if credentials.ticket:
            grant = self._tickets.redeem(credentials.ticket)
        else:
            grant = await self._authorizer.grant(credentials)
        if not self.holds(grant):
            raise unauthenticated("these credentials have expired; get new ones", "expired")
        return grant

    def holds(self, grant: Grant) -> bool:
        """Whether a grant has neither expired nor been taken back."""
        ahead = grant.expires is None or grant.expires > self._now()
        return ahead and self._authorizer.holds(grant)

    async def prepare(self) -> None:
        """Fetch the configured authorizer's remote data."""
        await self._authorizer.prepare()

    def ticket(self, grant: Grant, conversation: str, action: Action, *more: Action) -> str:
        """Return a ticket for a URL. Raises `Refused`."""
        return self._tickets.issue(grant, conversation, action, *more)


def make_authorizer(gateway: Gateway) -> TicketAuthorizer:
    """Return the authorizer of `gateway.auth`. Raises `ConfigError` with what has to be changed or installed."""
    authorizer: Authorizer
    if gateway.auth == "keys":
        authorizer = KeyAuthorizer(Path(gateway.keys_file))
    elif gateway.auth == "jwt":
        authorizer = _tokens(gateway)
    elif gateway.auth == "function":
        authorizer = FunctionAuthorizer(gateway.function)
    else:
        authorizer = AllowAll()
    return TicketAuthorizer(authorizer, Tickets(gateway.ticket_secret, gateway.ticket_s))


def _tokens(gateway: Gateway) -> Authorizer:
    if find_spec("jwt") is None or find_spec("cryptography") is None:
        raise ConfigError(["gateway.auth: jwt needs PyJWT with cryptography: pip install 'tokenmill[auth]'"])
    from tokenmill.gateway.auth.jwt_tokens import JwtAuthorizer  # noqa: PLC0415 -- needs an optional dependency

    return JwtAuthorizer(gateway)


async def authorised(
    authorizer: Authorizer, asked: web.BaseRequest | Credentials, conversation: str, action: Action
) -> Grant:
    """Return the grant that allows the action on the conversation.

    Raises `Refused`: 401 for an unknown client, 403 if it may not do this, 503 if its rights can't be checked now.
    """
    grant = await authorizer.grant(asked if isinstance(asked, Credentials) else credentials_of(asked))
    must_allow(grant, conversation, action)
    return grant


def credentials_of(request: web.BaseRequest) -> Credentials:
    """Return the credentials of a request."""
    headers = {name.lower(): ", ".join(request.headers.getall(name)) for name in request.headers}
    return Credentials(headers, request.query.get(TICKET, ""), request.remote or "")
