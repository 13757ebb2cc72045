"""Admits requests to routes: checks their rights, takes a connection slot, and checks later whether the rights hold."""

from aiohttp import web

from tokenmill.gateway.auth.authorizer import authorised, credentials_of
from tokenmill.gateway.auth.connection_limits import ConnectionLimits, ConnectionSlot
from tokenmill.gateway.auth.grant import Action, Authorizer, Grant, Held, forbidden

NOBODY = Grant(name="", conversations=(), actions=frozenset())
"""The grant under which connections are counted for the process alone."""


class Admission:
    """Checks the rights of requests and hands out connection slots, for every route."""

    def __init__(self, authorizer: Authorizer, limits: ConnectionLimits) -> None:
        self._authorizer = authorizer
        self._limits = limits

    async def check(self, request: web.BaseRequest, conversation: str, action: Action) -> Grant:
        """Return the grant that allows the action on the conversation. Raises `Refused`."""
        return await authorised(self._authorizer, request, conversation, action)

    async def who(self, request: web.BaseRequest) -> Grant:
        """Return the client's grant, whatever it requests. Raises `Refused`."""
        return await self._authorizer.grant(credentials_of(request))

    async def may(self, request: web.BaseRequest, action: Action) -> Grant:
        """Return the grant of a client that may do this to any conversation. Raises `Refused`.

        Routes whose body names the conversation use it: an unknown client's body is not read, and `must_allow` follows.
        """
        grant = await self.who(request)
        if action not in grant.actions:
            raise forbidden(action)
        return grant

    def slot(self, grant: Grant) -> ConnectionSlot:
        """Return a slot for a connection."""
        return self._limits.taken(grant)

    def unnamed_slot(self) -> ConnectionSlot:
        """Return a slot that counts only for the process: the client's name is not known yet, or does not matter."""
        return self._limits.taken(NOBODY)

    def held(self, grant: Grant) -> Held:
        """Return a function that checks whether a grant still holds, to be called now and then."""
        return _Holds(self._authorizer, grant)


class _Holds:
    __slots__ = ("_authorizer", "_grant")

    def __init__(self, authorizer: Authorizer, grant: Grant) -> None:
        self._authorizer = authorizer
        self._grant = grant

    def __call__(self) -> bool:
        return self._authorizer.holds(self._grant)
