"""Requests that match nothing: no route, an unknown expectation, or not HTTP at all.

aiohttp answers the first two by itself, but fails where their bytes are not UTF-8, and logs a trace for each request
that is not HTTP: any client that reaches the port could fill the log, with lines of its choosing.
"""

import logging
import re
from collections.abc import Iterable

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.http_exceptions import HttpProcessingError

from tokenmill.gateway.problems import NOT_ALLOWED, NOT_FOUND, Refused

ANYTHING = "/{path:(?s:.*)}"
"""Pattern of any path, even one with line ends."""

NAME = re.compile(r"\{(\w+)\}")
"""Pattern of a named part of a path: by default aiohttp matches only text without braces."""

NO_ROUTE = (
    "there is no such address; docs/reference/ lists the addresses of a gateway (gateway.md) and of a front (apis.md)"
)


def guarded(routes: Iterable[web.RouteDef]) -> list[web.RouteDef]:
    """Return the routes, and one for everything else, each with a check of the expectation.

    A named part of a path is everything between two slashes: a conversation's id may have braces.
    """
    every = [*routes, web.route(hdrs.METH_ANY, ANYTHING, unmatched)]
    return [
        web.RouteDef(
            each.method, NAME.sub(r"{\1:[^/]+}", each.path), each.handler, {**each.kwargs, "expect_handler": expected}
        )
        for each in every
    ]


async def expected(request: web.Request) -> None:
    """Answer `expect: 100-continue`; another expectation is met by the answer itself."""
    if request.version == HttpVersion11 and request.headers.get(hdrs.EXPECT, "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the answer has not begun


async def unmatched(request: web.Request) -> web.StreamResponse:
    """Refuse a request that no route takes: 405 if another method would match, else 404."""
    allowed: set[str] = set()
    for resource in request.app.router.resources():
        _, methods = await resource.resolve(request)
        allowed |= methods
    allowed.discard(hdrs.METH_ANY)  # the method of this route itself
    if allowed:
        takes = ", ".join(sorted(allowed))
        raise Refused(NOT_ALLOWED, f"this address takes only {takes}", headers={"allow": takes})
    raise Refused(NOT_FOUND, NO_ROUTE)


class NoHttp(logging.Filter):
    """Keeps bytes that are not HTTP, and clients that left, out of the log; failures of the gateway stay in it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is about an error of the gateway."""
        problem = record.exc_info[1] if record.exc_info else None
        return not isinstance(problem, HttpProcessingError | ConnectionError)


def server_log() -> logging.Logger:
    """Return the log of the web server."""
    log = logging.getLogger("tokenmill.gateway.http.server")
    if not any(isinstance(each, NoHttp) for each in log.filters):
        log.addFilter(NoHttp())
    return log
