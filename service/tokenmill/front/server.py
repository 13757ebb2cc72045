"""The web application of the front: its routes, and refusals in the error object of the request's API."""

import logging
from collections.abc import Iterable
from functools import partial
from http import HTTPStatus
from typing import TypeAlias

from aiohttp import web

from tokenmill.apis import APIS, CHAT, MESSAGES, Api, BadAsk
from tokenmill.apis.refusals import error_body, upstream_error
from tokenmill.errors import Unavailable
from tokenmill.front.failure import Failed
from tokenmill.gateway.http.app import REQUEST_ID, guarded_app, new_id, unforeseen
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.gateway.http.origins import Origins
from tokenmill.gateway.problems import INTERNAL, Refused
from tokenmill.observe import Numbers
from tokenmill.observe.telemetry import NO_TELEMETRY, Telemetry

log = logging.getLogger(__name__)

ANTHROPIC_ID = "request-id"
"""Header from which Anthropic's SDKs read the id of a request."""

AGAIN = {429: "2", 503: "2", 529: "5"}
"""Status of a refusal → seconds after which the request may be sent again, for `retry-after`."""

Foreseen: TypeAlias = BadAsk | Failed | Refused | Unavailable | web.HTTPException
"""Exceptions for which clients get their own errors."""


def front_app(
    routes: Iterable[web.RouteDef],
    numbers: Numbers,
    origins: Origins,
    watch: IdleConnections,
    body_bytes: int,
    telemetry: Telemetry = NO_TELEMETRY,
) -> web.Application:
    """Return the application for clients, whose refusals are errors of the request's API. It counts requests."""

    def over(request: web.Request, status: str) -> None:
        api = api_of(request.path)
        if request.path == api.path and request.method == "POST":
            numbers.add("tokenmill_front_requests_total", api.name, status)

    app = guarded_app(routes, origins, watch, body_bytes, telemetry, _refuse, over)
    app.on_response_prepare.append(_set_request_id)
    return app


async def _set_request_id(request: web.Request, response: web.StreamResponse) -> None:
    """Give every response, streams included, a request id in the header that the SDKs of its API read."""
    identity = response.headers.setdefault(REQUEST_ID, new_id())
    if api_of(request.path) is MESSAGES:
        response.headers[ANTHROPIC_ID] = identity


def api_of(path: str) -> Api:
    """Return the API whose error objects a path uses; Chat Completions for a path of no API."""
    return next((api for api in APIS if path == api.path or path.startswith(f"{api.path}/")), CHAT)


def _refuse(request: web.Request, problem: Exception, identity: str) -> web.Response:
    """Return the response for what a handler raised. Unforeseen errors are logged with the request's id."""
    if not isinstance(problem, Foreseen):
        unforeseen(request, problem, identity)
        detail = f"the front failed; its log has the reason, with the request id {identity}"
        problem = Refused(INTERNAL, detail)
    return refusal(api_of(request.path), problem, identity)


def refusal(api: Api, problem: Foreseen, request_id: str) -> web.Response:
    """Return the HTTP response for a refusal or failure, with the error object of the API."""
    status: int
    headers: dict[str, str] = {}
    body_of = partial(error_body, api, request_id=request_id)
    if isinstance(problem, BadAsk):
        status = HTTPStatus.NOT_FOUND if problem.code == "model_not_found" else HTTPStatus.BAD_REQUEST
        body = body_of(status, str(problem), param=problem.param, code=problem.code)
    elif isinstance(problem, Failed):
        status, headers = problem.status, dict(problem.headers)
        body = upstream_error(api, status, problem.raw, str(problem), request_id)
    elif isinstance(problem, Refused):
        status, headers = problem.kind.status, dict(problem.headers)
        body = body_of(status, problem.detail, code=problem.kind.name)
    elif isinstance(problem, Unavailable):
        log.warning("a request was refused: %s", problem)
        status = HTTPStatus.SERVICE_UNAVAILABLE
        body = body_of(status, "try again in a moment")
    else:
        status, body = problem.status, body_of(problem.status, problem.reason)
    if again := AGAIN.get(status):
        headers.setdefault("retry-after", again)
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)
