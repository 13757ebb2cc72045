"""Requests of clients as OpenTelemetry is told of them."""

import asyncio

import pytest
from aiohttp import web
from opentelemetry.trace import SpanKind, StatusCode

from tests.gateway.http.test_app import away, refused, served
from tests.support.spans import HEADERS, PARENT, TRACE, Kept, ids_of
from tests.support.stage import until
from tokenmill.config import Gateway
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.http.app import client_app
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.gateway.http.origins import Origins
from tokenmill.gateway.http.tracing import tracing
from tokenmill.observe.telemetry import NO_TELEMETRY


async def failing(_: web.Request) -> web.Response:
    raise RuntimeError("a secret")


def app(kept: Kept, over: asyncio.Event | None = None) -> web.Application:
    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        kept.telemetry.current().event("stream begun")
        assert over is not None
        await over.wait()
        return response

    routes = [
        web.get("/of/{who}", stream),
        web.get("/refused", refused),
        web.get("/away", away),
        web.get("/failing", failing),
    ]
    return client_app(routes, Counts(), Origins(Gateway()), IdleConnections(), 1_000, kept.telemetry)


@pytest.mark.parametrize(
    ("path", "name", "status", "error"),
    [
        ("/refused", "GET /refused", 409, None),
        ("/away", "GET /away", 503, "503"),
        ("/nowhere", "GET /{path}", 404, None),
        ("/failing", "GET /failing", 500, "RuntimeError"),
    ],
)
async def test_a_request_is_a_span(path: str, name: str, status: int, error: str | None) -> None:
    """Only what is the server's fault is an error of it."""
    kept = Kept()
    headers = {key: value.decode() for key, value in HEADERS}
    async with served(app(kept)) as client:
        assert (await client.get(path, headers=headers)).status_code == status
    span = kept.only
    assert (span.name, span.kind, ids_of(span)) == (name, SpanKind.SERVER, (TRACE, PARENT))
    about = span.attributes or {}
    assert about["http.request.method"] == "GET"
    assert about.get("http.response.status_code", 500) == status
    assert (about.get("error.type"), span.status.status_code is StatusCode.ERROR) == (error, error is not None)
    assert "secret" not in span.to_json()


async def test_a_stream_is_a_span_as_long_as_it_lasts() -> None:
    """It says when the first byte left, and names no conversation that is in the path."""
    kept, over = Kept(), asyncio.Event()
    async with served(app(kept, over)) as client, client.stream("GET", "/of/somebody") as response:
        assert response.status_code == 200
        assert kept.spans == []
        over.set()
        await until(lambda: bool(kept.spans), "the span of the stream")
    assert kept.only.name == "GET /of/{who}"
    assert [event.name for event in kept.only.events] == ["stream begun"]
    assert "somebody" not in kept.only.to_json()


def test_nothing_is_in_front_of_routes_where_nobody_is_told() -> None:
    """It would cost each open stream memory."""
    assert tracing(NO_TELEMETRY) == []
