"""What the front says to clients that can't have what they ask for."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product

import httpx
import pytest
from aiohttp import web

from tests.support.serving_app import serving_app
from tokenmill.apis import APIS, CHAT, MESSAGES, RESPONSES, Api, BadAsk
from tokenmill.config import Gateway
from tokenmill.errors import Unavailable
from tokenmill.front.failure import Failed
from tokenmill.front.server import api_of, front_app
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.gateway.http.origins import Origins
from tokenmill.gateway.problems import CONFLICT, Refused
from tokenmill.observe import FRONT_METRICS, Numbers


@pytest.mark.parametrize(
    ("path", "api"),
    [
        ("/v1/messages", MESSAGES),
        ("/v1/responses/resp_1/cancel", RESPONSES),
        ("/v1/chat/completions", CHAT),
        ("/v1/models", CHAT),
        ("/", CHAT),
        ("/v1/messages-of-mine", CHAT),
    ],
)
def test_a_path_belongs_to_an_api(path: str, api: Api) -> None:
    """Its clients read no other errors; whoever is lost reads OpenAI's."""
    assert api_of(path) is api


async def away(_: web.Request) -> web.Response:
    raise Unavailable("Kafka: read: no answer within 15 s")


async def conflict(_: web.Request) -> web.Response:
    raise Refused(CONFLICT, "another body")


async def unknown(_: web.Request) -> web.Response:
    raise BadAsk("no such model", "model", code="model_not_found")


async def wrong(_: web.Request) -> web.Response:
    raise KeyError("nobody foresaw it")


async def failed(_: web.Request) -> web.Response:
    raise Failed(529, "busy", '{"type":"error","error":{"type":"overloaded_error","message":"busy"}}')


async def body(request: web.Request) -> web.Response:
    return web.Response(body=await request.read())


async def kept(_: web.Request) -> web.Response:
    return web.Response(headers={"cache-control": "max-age=60"})


ROUTES = [
    web.get("/v1/messages/away", away),
    web.get("/v1/responses/conflict", conflict),
    web.post("/v1/chat/completions", unknown),
    web.post("/v1/messages", failed),
    web.post("/v1/responses", wrong),
    web.post("/v1/body", body),
    web.get("/v1/kept", kept),
]


@asynccontextmanager
async def served(
    numbers: Numbers | None = None, gateway: Gateway | None = None, watch: IdleConnections | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    """Clients of an application whose routes refuse."""
    numbers, origins = numbers or Numbers(FRONT_METRICS), Origins(gateway or Gateway())
    app = front_app(ROUTES, numbers, origins, watch or IdleConnections(), 1_000)
    async with (
        serving_app(app, access_log=None) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        yield client


@pytest.mark.parametrize(
    ("method", "path", "status", "error"),
    [
        ("GET", "/v1/messages/away", 503, {"type": "overloaded_error", "message": "try again in a moment"}),
        ("GET", "/v1/responses/conflict", 409, {"code": "conflict", "message": "another body"}),
        ("POST", "/v1/chat/completions", 404, {"code": "model_not_found", "param": "model"}),
        ("POST", "/v1/messages", 529, {"type": "overloaded_error", "message": "busy"}),
        ("GET", "/v1/nothing", 404, {"code": "not-found"}),
        ("GET", "/v1/messages", 405, {"message": "this address takes only POST"}),
        ("POST", "/v1/body", 413, {}),
    ],
)
async def test_every_refusal_is_an_error_of_its_api(method: str, path: str, status: int, error: dict[str, str]) -> None:
    """With an id, and with the time after which to come again where that may help; inside matters stay inside."""
    async with served() as client:
        response = await client.request(method, path, content=b"x" * 2_000 if path == "/v1/body" else None)
    said = response.json()["error"]
    assert (response.status_code, {name: said[name] for name in error}) == (status, error)
    assert len(response.headers["x-request-id"]) == 16
    anthropic = path.startswith("/v1/messages")
    assert response.headers.get("request-id") == (response.headers["x-request-id"] if anthropic else None)
    assert response.json().get("request_id") == response.headers.get("request-id")
    assert response.headers["cache-control"] == "no-store"
    assert ("retry-after" in response.headers) == (status in (429, 503, 529))
    assert ("allow" in response.headers) == (status == 405)
    assert "Kafka" not in response.text


async def test_no_cache_keeps_an_answer_unless_its_route_says_so() -> None:
    """A shared one would show one client's answer to another."""
    async with served() as client:
        found = [await client.post("/v1/body", content=b"x"), await client.get("/v1/kept")]
    assert [each.headers["cache-control"] for each in found] == ["no-store", "max-age=60"]


async def test_an_operator_sees_why_nothing_could_be_done(caplog: pytest.LogCaptureFixture) -> None:
    """The client does not."""
    async with served() as client:
        with caplog.at_level(logging.WARNING):
            await client.get("/v1/messages/away")
    assert "no answer within 15 s" in caplog.text


async def test_what_nobody_foresaw_is_in_the_log_under_the_id_of_its_answer(caplog: pytest.LogCaptureFixture) -> None:
    """The client gets the id, in an error of its API, and nothing of what is inside."""
    async with served() as client:
        response = await client.post("/v1/responses")
    identity, error = response.headers["x-request-id"], response.json()["error"]
    assert (response.status_code, error["type"], identity in error["message"]) == (500, "server_error", True)
    assert "nobody foresaw it" not in response.text
    (logged,) = [record for record in caplog.records if identity in record.getMessage()]
    assert logged.exc_info is not None
    assert "POST '/v1/responses' failed" in logged.getMessage()


async def test_a_process_that_ends_closes_connections_behind_their_answers() -> None:
    """Whoever comes again on one that was kept would never find another process."""
    watch = IdleConnections()
    async with served(watch=watch) as client:
        for path in ("/v1/messages/away", "/v1/responses/conflict"):
            assert "connection" not in (await client.get(path)).headers
        watch.draining = True
        for path in ("/v1/messages/away", "/v1/responses/conflict"):
            assert (await client.get(path)).headers["connection"] == "close"


async def test_requests_are_counted_by_api_and_outcome() -> None:
    """What is no request for an answer is not."""
    numbers = Numbers(FRONT_METRICS)
    async with served(numbers) as client:
        posts = [("POST", path) for path in ("/v1/messages", "/v1/chat/completions", "/v1/responses")]
        for method, path in (*posts, ("GET", "/v1/nothing")):
            await client.request(method, path)
    rows = product([api.name for api in APIS], ["2xx", "4xx", "5xx", "left"])
    counts = {row: numbers.value("tokenmill_front_requests_total", *row) for row in rows}
    assert {row: count for row, count in counts.items() if count} == {
        ("messages", "5xx"): 1,
        ("chat", "4xx"): 1,
        ("responses", "5xx"): 1,
    }


async def test_pages_of_other_origins_are_refused() -> None:
    """In the object of the API; those that are listed may ask first, and read the answer."""
    async with served(gateway=Gateway(origins=["https://chat.example"])) as client:
        refused = await client.post("/v1/messages", headers={"origin": "https://evil.example"})
        assert (refused.status_code, refused.json()["type"]) == (403, "error")
        sends = {"access-control-request-method": "POST", "access-control-request-headers": "x-stainless-os"}
        asked = await client.options("/v1/messages", headers={"origin": "https://chat.example", **sends})
        assert asked.headers["access-control-allow-origin"] == "https://chat.example"
        assert "x-stainless-os" in asked.headers["access-control-allow-headers"]
