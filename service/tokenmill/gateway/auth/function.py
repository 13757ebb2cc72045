"""Rights by a function of the operator's: `module:function`, which takes `Credentials` and returns a `Grant` or None.

    from tokenmill.gateway import Credentials, Grant

    async def who(credentials: Credentials) -> Grant | None:
        user = credentials.headers.get("x-forwarded-user")
        return Grant(user, (f"{user}-*",), frozenset({"read", "stop"})) if user else None

1. It fails closed: what it raises, a deadline that it misses and an answer that is no grant let nobody in.
2. What it raises may quote what it was shown, so the log has only the kind of error and its place.
3. It runs on the event loop of all connections: what waits has to be awaited.
4. A name that comes from a header can hold anything a proxy lets through, `*` included: who builds patterns of it
   checks it first.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from importlib import import_module
from inspect import iscoroutinefunction
from typing import Final

import msgspec

from tokenmill.errors import ConfigError, raised_at
from tokenmill.gateway.auth.grant import Authorizer, Credentials, Grant, unauthenticated

log = logging.getLogger(__name__)

DEADLINE_S: Final = 5.0
"""For one answer. Whoever waits holds a connection, and browsers show nothing meanwhile."""


class FunctionAuthorizer(Authorizer):
    """Grants what a function of the operator's answers. Raises `ConfigError` if there is none of that name."""

    def __init__(self, name: str, deadline_s: float = DEADLINE_S) -> None:
        self._function = _found(name)
        self._deadline_s = deadline_s

    async def grant(self, credentials: Credentials) -> Grant:
        """What the function answers."""
        grant = await self._asked(credentials)
        if grant is None:
            raise unauthenticated("these credentials are not accepted", "wrong")
        return grant

    async def _asked(self, credentials: Credentials) -> Grant | None:
        try:
            async with asyncio.timeout(self._deadline_s):
                answer = await self._function(credentials)
        except Exception as problem:  # noqa: BLE001 -- code of others may raise anything; see 2. for the trace
            log.warning("gateway.function let nobody in: %s", raised_at(problem))
            return None
        try:
            return _checked(answer)
        except (msgspec.ValidationError, TypeError) as problem:
            log.error("gateway.function let nobody in: its answer is no Grant: %s", problem)  # noqa: TRY400 -- see 2.
            return None


def _found(name: str) -> Callable[[Credentials], Awaitable[Grant | None]]:
    module, _, attribute = name.partition(":")
    try:
        function: Callable[[Credentials], Awaitable[Grant | None]] = getattr(import_module(module), attribute)
    except Exception as problem:  # a module may raise anything when it is imported
        raise ConfigError([f"gateway.function: there is no {name}: {type(problem).__name__}: {problem}"]) from problem
    if not iscoroutinefunction(function):
        raise ConfigError([f"gateway.function: {name} is no `async` function"])
    return function


def _checked(answer: Grant | None) -> Grant | None:
    """The answer, if its fields are what they should be: in a text in place of a tuple each `*` would stand alone."""
    return None if answer is None else msgspec.convert(msgspec.to_builtins(answer), Grant, strict=True)
