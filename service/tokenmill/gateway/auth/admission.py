"""Lets requests in to a route: rights first, then a slot among the connections; and for how long."""

from aiohttp import web

from tokenmill.gateway.auth.authorizer import authorised, credentials_of
from tokenmill.gateway.auth.connection_limits import ConnectionLimits, ConnectionSlot
from tokenmill.gateway.auth.grant import Action, Authorizer, Grant, Held, forbidden

NOBODY = Grant(name="", conversations=(), actions=frozenset())
"""The grant under which connections are counted for the process alone."""


class Admission:
    """Asked by every route: for a request's rights, and for a connection's slot."""

    def __init__(self, authorizer: Authorizer, limits: ConnectionLimits) -> None:
        self._authorizer = authorizer
        self._limits = limits

    async def check(self, request: web.BaseRequest, conversation: str, action: Action) -> Grant:
        """The grant that allows this. Raises `Refused`."""
        return await authorised(self._authorizer, request, conversation, action)

    async def who(self, request: web.BaseRequest) -> Grant:
        """The grant of the client, whatever it asks for. Raises `Refused`."""
        return await self._authorizer.grant(credentials_of(request))

    async def may(self, request: web.BaseRequest, action: Action) -> Grant:
        """The grant of a client that may do this at all. Raises `Refused`.

        For routes whose body names the conversation: it is not read for unknown clients, and `must_allow` follows.
        """
        grant = await self.who(request)
        if action not in grant.actions:
            raise forbidden(action)
        return grant

    def slot(self, grant: Grant) -> ConnectionSlot:
        """A slot for a connection."""
        return self._limits.taken(grant)

    def unnamed_slot(self) -> ConnectionSlot:
        """A slot that counts for the process alone: the name is not known yet, or does not matter."""
        return self._limits.taken(NOBODY)

    def held(self, grant: Grant) -> Held:
        """A function that tells whether a grant still holds, to be called now and then."""
        return _Holds(self._authorizer, grant)


class _Holds:
    __slots__ = ("_authorizer", "_grant")

    def __init__(self, authorizer: Authorizer, grant: Grant) -> None:
        self._authorizer = authorizer
        self._grant = grant

    def __call__(self) -> bool:
        return self._authorizer.holds(self._grant)
