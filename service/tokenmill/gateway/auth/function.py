"""Rights from the operator's function: `module:function`, which takes `Credentials` and returns a `Grant` or None.

    from tokenmill.gateway import Credentials, Grant

    async def who(credentials: Credentials) -> Grant | None:
        user = credentials.headers.get("x-forwarded-user")
        return Grant(user, (f"{user}-*",), frozenset({"read", "stop"})) if user else None

1. It fails closed: an exception, a missed deadline and an answer that is not a grant let nobody in.
2. An exception may quote the credentials, so only its type and place are logged.
3. It runs on the event loop of all connections, so it has to await anything slow.
4. A name from a header can hold anything that a proxy lets through, `*` included: check it before you build patterns
   from it.
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
"""Seconds for one answer. The client holds a connection meanwhile, and browsers show nothing."""


class FunctionAuthorizer(Authorizer):
    """Grants what the operator's function returns. Raises `ConfigError` if there is no such `async` function."""

    def __init__(self, name: str, deadline_s: float = DEADLINE_S) -> None:
        self._function = _found(name)
        self._deadline_s = deadline_s

    async def grant(self, credentials: Credentials) -> Grant:
        """Return the grant that the function returns. Raises `Refused` if there is none."""
        grant = await self._asked(credentials)
        if grant is None:
            raise unauthenticated("these credentials are not accepted", "wrong")
        return grant

    async def _asked(self, credentials: Credentials) -> Grant | None:
        try:
            async with asyncio.timeout(self._deadline_s):
                answer = await self._function(credentials)
        except Exception as problem:  # noqa: BLE001 -- the function may raise anything; see 2. for the trace
            log.warning("gateway.function failed, so the client was refused: %s", raised_at(problem))
            return None
        try:
            return _checked(answer)
        except (msgspec.ValidationError, TypeError) as problem:
            log.error("gateway.function did not return a Grant, so the client was refused: %s", problem)  # noqa: TRY400 -- see 2.
            return None


def _found(name: str) -> Callable[[Credentials], Awaitable[Grant | None]]:
    module, _, attribute = name.partition(":")
    try:
        function: Callable[[Credentials], Awaitable[Grant | None]] = getattr(import_module(module), attribute)
    except Exception as problem:  # a module may raise anything when it is imported
        raise ConfigError(
            [f"gateway.function: {name} can't be imported: {type(problem).__name__}: {problem}"]
        ) from problem
    if not iscoroutinefunction(function):
        raise ConfigError([f"gateway.function: {name} is not an `async` function"])
    return function


def _checked(answer: Grant | None) -> Grant | None:
    """Check the types of the answer's fields: a string in place of a tuple would be patterns of one character."""
    return None if answer is None else msgspec.convert(msgspec.to_builtins(answer), Grant, strict=True)
