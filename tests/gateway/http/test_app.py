"""What every answer has in common, and the endpoints for operators."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import httpx
import pytest
from aiohttp import web

from tests.support.serving_app import serving_app
from tokenmill.config import Gateway
from tokenmill.errors import Unavailable
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.http.app import HEADER_BYTES, client_app
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.gateway.http.origins import Origins
from tokenmill.gateway.http.unmatched import server_log
from tokenmill.gateway.problems import CONFLICT, Refused


@contextlib.asynccontextmanager
async def served(app: web.Application) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        serving_app(app, access_log=None, logger=server_log()) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        yield client


async def refused(_: web.Request) -> web.Response:
    raise Refused(CONFLICT, "send 7 first", expected=7)


async def away(_: web.Request) -> web.Response:
    raise Unavailable("Kafka: read: no answer within 15 s")


async def mistaken(_: web.Request) -> web.Response:
    raise KeyError("a secret")


async def cut(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b"half")
    raise KeyError("a secret")


async def kept(_: web.Request) -> web.Response:
    return web.Response(headers={"cache-control": "private, max-age=60"})


async def body(request: web.Request) -> web.Response:
    return web.Response(body=await request.read())


def app() -> web.Application:
    routes = [
        web.get("/refused", refused),
        web.get("/away", away),
        web.get("/mistaken", mistaken),
        web.get("/cut", cut),
        web.get("/kept", kept),
        web.post("/body", body),
    ]
    return client_app(routes, Counts(), Origins(Gateway()), IdleConnections(), 1_000)


async def test_what_does_not_say_that_it_may_be_kept_may_not() -> None:
    """Caches guess otherwise; what a route says of it counts."""
    async with served(app()) as client:
        answers = [await client.request(*each) for each in (("POST", "/body"), ("GET", "/kept"))]
    said = [each.headers["cache-control"] for each in answers]
    assert said == ["no-store", "private, max-age=60"]


@pytest.mark.parametrize(
    ("method", "path", "kind", "status"),
    [
        ("GET", "/refused", "conflict", 409),
        ("GET", "/away", "unavailable", 503),
        ("GET", "/nowhere", "not-found", 404),
        ("DELETE", "/refused", "method-not-allowed", 405),
        ("POST", "/body", "too-large", 413),
    ],
)
async def test_every_refusal_is_a_problem(method: str, path: str, kind: str, status: int) -> None:
    """Also those of the server itself; and each has an id under which it is in the log."""
    async with served(app()) as client:
        answer = await client.request(method, path, content=b"x" * 2_000 if method == "POST" else None)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    problem = answer.json()
    assert (problem["type"], problem["status"]) == (f"urn:tokenmill:problem:{kind}", status)
    assert problem["detail"]
    assert len(answer.headers["x-request-id"]) == 16
    assert answer.headers["cache-control"] == "no-store"  # caches keep a 404 or a 410 that does not say so
    if status == 405:
        assert "GET" in answer.headers["allow"]
    if status == 503:
        assert answer.headers["retry-after"] == "2"
        assert "Kafka: read" not in answer.text


async def test_what_nobody_foresaw_is_in_the_log_under_the_id_of_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    """Which is a problem, and says nothing of what failed."""
    async with served(app()) as client:
        answer = await client.get("/mistaken")
    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
    assert answer.json()["type"] == "urn:tokenmill:problem:internal"
    assert "secret" not in answer.text
    (said,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert answer.headers["x-request-id"] in said.getMessage()
    assert said.exc_info is not None
    assert isinstance(said.exc_info[1], KeyError)


async def test_a_stream_that_fails_is_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    """No second answer is written into it, and no end that looks like one of the stream."""
    async with served(app()) as client:
        with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
            await client.get("/cut")
    (said,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert said.exc_info is not None
    assert isinstance(said.exc_info[1], KeyError)


async def test_connections_are_closed_behind_each_answer_while_the_process_drains() -> None:
    """Whoever comes back at once finds another process, and does not ask this one again and again."""
    watch = IdleConnections()
    routes = [web.get("/refused", refused), web.post("/body", body)]
    async with served(client_app(routes, Counts(), Origins(Gateway()), watch, 1_000)) as client:
        said = [(await client.post("/body", content=b"x")).headers.get("connection") for _ in range(2)]
        watch.draining = True
        answers = [await client.post("/body", content=b"x"), await client.get("/refused"), await client.get("/no")]
        assert said == [None, None]
        assert [answer.status_code for answer in answers] == [200, 409, 404]
        assert [answer.headers["connection"] for answer in answers] == ["close"] * 3


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"x" * 2 * HEADER_BYTES + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\ncookie: " + b"x" * (1 << 20) + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 500 + b"\r\n",
        b"\x16\x03\x01\x00\xa5\x01\x00",
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
async def test_a_head_that_is_none_or_too_long_is_refused(head: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """And the connection is closed, without a trace in the log and without keeping what was sent."""
    async with served(app()) as client, asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", client.base_url.port)
        long = len(head) > HEADER_BYTES  # then the connection may be gone before all of it is written
        with contextlib.suppress(ConnectionError) if long else contextlib.nullcontext():
            writer.write(head)
            await writer.drain()
            assert b" 400 " in (await reader.read()).split(b"\r\n")[0]
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        assert (await client.get("/refused")).status_code == 409
    assert not [record for record in caplog.records if record.exc_info and record.levelname == "ERROR"]
