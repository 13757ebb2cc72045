"""The web server: routes, and the common parts of all answers."""

import logging
import secrets
from collections.abc import Callable, Iterable
from typing import TypeAlias

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from tokenmill.errors import Unavailable
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.gateway.http.origins import Origins, asks
from tokenmill.gateway.http.tracing import FAILED, tracing
from tokenmill.gateway.http.unmatched import guarded
from tokenmill.gateway.problems import INTERNAL, NOT_FOUND, TOO_LARGE, UNAVAILABLE, Kind, Refused, shown
from tokenmill.observe.telemetry import NO_TELEMETRY, Telemetry

log = logging.getLogger(__name__)

HEADER_BYTES = 16 * 1024
"""Bytes of the longest header line: tokens have a few kilobytes, none has a megabyte."""

REQUEST_ID = "x-request-id"

_STATUS: dict[int, Kind] = {404: NOT_FOUND, 413: TOO_LARGE}
"""Refusals that aiohttp makes itself: of `OPTIONS *`, which is not an address, and of a whole body that is too
large."""


Refuse: TypeAlias = Callable[[web.Request, Exception, str], web.Response]
"""Returns the answer to a request with this id, whose handler raised this. Raises it again if it can't be answered."""

Over: TypeAlias = Callable[[web.Request, str], None]
"""Called when a request is over, with the class of its status (`2xx`), or with `left` if its client has left."""


def client_app(
    routes: Iterable[web.RouteDef],
    counts: Counts,
    origins: Origins,
    watch: IdleConnections,
    body_bytes: int,
    telemetry: Telemetry = NO_TELEMETRY,
) -> web.Application:
    """Return the clients' application, whose refusals are problems that describe what to change.

    `body_bytes` caps a body that is read whole.
    """

    def refuse(request: web.Request, problem: Exception, identity: str) -> web.Response:
        refusal = _refusal(request, problem, identity)
        counts.refused(refusal.kind)
        return refusal.response()

    return guarded_app(routes, origins, watch, body_bytes, telemetry, refuse)


def guarded_app(
    routes: Iterable[web.RouteDef],
    origins: Origins,
    watch: IdleConnections,
    body_bytes: int,
    telemetry: Telemetry,
    refuse: Refuse,
    over: Over = lambda _request, _status: None,
) -> web.Application:
    """Return an application with bounds for everything that clients send, and one middleware for all routes."""
    app = web.Application(
        middlewares=[*tracing(telemetry), _answering(origins, watch, refuse, over)],
        client_max_size=body_bytes,
        handler_args={
            "max_field_size": HEADER_BYTES,
            "max_line_size": HEADER_BYTES,
            "auto_decompress": False,  # a small body may become a large one; compressed bodies are refused
        },
    )
    app.add_routes(guarded(routes))
    app.on_response_prepare.append(origins.mark)
    return app


def _answering(origins: Origins, watch: IdleConnections, refuse: Refuse, over: Over) -> Middleware:
    """Return the middleware that answers for handlers that raise.

    Everything that concerns all requests is here: another middleware would cost each open stream half a kilobyte.
    """

    @web.middleware
    async def answered(request: web.Request, handler: Handler) -> web.StreamResponse:
        status = "left"
        watch.begins(request.protocol)
        try:
            origins.check(request)
            response = origins.preflight(request) if asks(request) else await handler(request)
            status = f"{response.status // 100}xx"
        except ConnectionError:  # the client went away while it was written to
            raise
        except Exception as problem:  # noqa: BLE001 -- `refuse` logs what is unexpected, with the id that the answer has
            status, identity = "5xx", new_id()
            response = refuse(request, problem, identity)
            status = f"{response.status // 100}xx"
            response.headers[REQUEST_ID] = identity
        finally:
            watch.ends(request.protocol)
            over(request, status)
        if watch.draining:
            response.force_close()
        if not response.prepared:
            response.headers.setdefault(REQUEST_ID, new_id())
            response.headers.setdefault(hdrs.CACHE_CONTROL, "no-store")  # caches may keep a 404 without it
        return response

    return answered


def new_id() -> str:
    """Return a new id for a request, for its answer and the log."""
    return secrets.token_hex(8)


def unforeseen(request: web.Request, problem: Exception, identity: str) -> None:
    """Log an unexpected failure. Raises the problem itself if the answer has begun, so that it can't be reported."""
    if request.writer.output_size:  # a stream has begun: aiohttp cuts it off, and logs why
        raise problem
    request[FAILED] = type(problem).__name__
    log.error("request %s: %s %s failed", identity, request.method, shown(request.path), exc_info=problem)


def _refusal(request: web.Request, problem: Exception, identity: str) -> Refused:
    """Return the refusal to answer with. Raises the problem itself if it can't be answered with one."""
    if isinstance(problem, Refused):
        return problem
    if isinstance(problem, Unavailable):
        log.warning("request %s was refused: %s", identity, problem)
        return Refused(UNAVAILABLE, "try again in a moment", headers={"retry-after": "2"})
    if not isinstance(problem, web.HTTPException):
        unforeseen(request, problem, identity)
        return Refused(INTERNAL, f"the gateway failed; its log has the reason, with the request id {identity}")
    kind = _STATUS.get(problem.status)
    if kind is None:
        raise problem
    return Refused(kind, problem.reason)
