"""A span for each request of a client, whatever it is answered with; for streams it lasts as long as they do."""

from http import HTTPStatus

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from tokenmill.gateway.http.request_values import tracing_of
from tokenmill.observe.telemetry import Telemetry

FAILED = web.RequestKey("tokenmill_failed", str)
"""The type of the unexpected exception with which a request failed."""


def tracing(telemetry: Telemetry) -> list[Middleware]:
    """Return the middlewares before all routes: none if telemetry is off, as each costs memory."""
    return [_spanned(telemetry)] if telemetry.on else []


def _spanned(telemetry: Telemetry) -> Middleware:
    @web.middleware
    async def spanned(request: web.Request, handler: Handler) -> web.StreamResponse:
        resource = request.match_info.route.resource
        route = resource.canonical if resource is not None else "unknown"
        about = {"http.request.method": request.method, "http.route": route, "url.scheme": request.scheme}
        with telemetry.span(f"{request.method} {route}", "server", tracing_of(request.headers), about) as span:
            response = await handler(request)
            span.say({"http.response.status_code": response.status})
            if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                span.failed(request.get(FAILED, str(response.status)))
            return response

    return spanned
