"""Requests that are none of ours: of no route, with an expectation nobody has, or no HTTP at all.

aiohttp answers the first two by itself, but fails where their bytes are not UTF-8, and writes a trace into the log for
each request that is no HTTP: whoever can reach the port could fill the log, in lines of the caller's choosing.
"""

import logging
import re
from collections.abc import Iterable

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.http_exceptions import HttpProcessingError

from tokenmill.gateway.problems import NOT_ALLOWED, NOT_FOUND, Refused

ANYTHING = "/{path:(?s:.*)}"
"""Ends of lines included, which a path may have."""

NAME = re.compile(r"\{(\w+)\}")
"""Of a part of a path, which aiohttp takes for one without braces."""

NO_ROUTE = "there is no such address; docs/reference/ lists those of a gateway (gateway.md) and of a front (apis.md)"


def guarded(routes: Iterable[web.RouteDef]) -> list[web.RouteDef]:
    """The routes, and one for everything else, each of which looks at the expectation itself.

    A part of a path that has a name is whatever stands between two slashes: a conversation's id may have braces.
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
    """Refuse what no route takes: 405 where another method would do, else 404."""
    allowed: set[str] = set()
    for resource in request.app.router.resources():
        _, methods = await resource.resolve(request)
        allowed |= methods
    allowed.discard(hdrs.METH_ANY)  # of this route
    if allowed:
        takes = ", ".join(sorted(allowed))
        raise Refused(NOT_ALLOWED, f"this address takes {takes}", headers={"allow": takes})
    raise Refused(NOT_FOUND, NO_ROUTE)


class NoHttp(logging.Filter):
    """Keeps bytes that are no HTTP, and clients that left, out of the log; what fails in the gateway is in it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is about a mistake of ours."""
        problem = record.exc_info[1] if record.exc_info else None
        return not isinstance(problem, HttpProcessingError | ConnectionError)


def server_log() -> logging.Logger:
    """The log of the web server."""
    log = logging.getLogger("tokenmill.gateway.http.server")
    if not any(isinstance(each, NoHttp) for each in log.filters):
        log.addFilter(NoHttp())
    return log
