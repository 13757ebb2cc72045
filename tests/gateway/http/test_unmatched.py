"""Requests that are none of ours are answered with a problem, and cost no line of the log."""

import asyncio
import logging
from contextlib import suppress

import pytest
from aiohttp import web

from tests.support.serving_app import serving_app
from tokenmill.config import Gateway
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.http.app import client_app
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.gateway.http.origins import Origins
from tokenmill.gateway.http.unmatched import server_log


async def asked(request: bytes) -> bytes:
    """The answer of a server with one route to a request in bytes."""

    async def fine(_request: web.Request) -> web.Response:
        return web.Response(text="fine")

    async def broken(request: web.Request) -> web.Response:
        await web.StreamResponse().prepare(request)
        raise RuntimeError("a mistake of ours")

    async def named(request: web.Request) -> web.Response:
        return web.Response(text=ascii(request.match_info["name"]))

    routes = [
        web.get("/named/{name}/x", named),
        web.get("/fine", fine),
        web.post("/fine", fine),
        web.get("/broken", broken),
    ]
    app = client_app(routes, Counts(), Origins(Gateway()), IdleConnections(), 100)
    async with serving_app(app, logger=server_log()) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        return answer


def get(path: str, *headers: bytes, method: str = "GET") -> bytes:
    """A request that closes its connection."""
    lines = [f"{method} {path} HTTP/1.1".encode(), b"host: 127.0.0.1", b"connection: close", *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n"


async def test_an_address_without_a_route_is_a_problem() -> None:
    """404, or 405 with the methods that would do."""
    nowhere, wrong = await asked(get("/nowhere")), await asked(get("/fine", method="DELETE"))
    assert nowhere.startswith(b"HTTP/1.1 404")
    assert b"urn:tokenmill:problem:not-found" in nowhere
    assert wrong.startswith(b"HTTP/1.1 405")
    assert b"allow: GET, HEAD, POST" in wrong.replace(b"Allow", b"allow")


async def test_a_path_of_several_lines_is_an_address_without_a_route() -> None:
    """It gets by no route of ours, and no trace is in the log."""
    assert b"urn:tokenmill:problem:not-found" in await asked(get("/now%0Ahere"))


@pytest.mark.parametrize(
    ("sent", "name"), [("%7Ba%7D", "{a}"), ("{a}", "{a}"), ("a%7D", "a}"), ("a%2Fb", "a/b"), ("a%0Ab", "a\nb")]
)
async def test_a_part_of_a_path_may_have_any_character(sent: str, name: str) -> None:
    """As a conversation's id may."""
    assert (await asked(get(f"/named/{sent}/x"))).endswith(ascii(name).encode())


@pytest.mark.parametrize("path", ["/fine", "/nowhere", "/now%0Ahere"])
async def test_an_expectation_that_nobody_has_is_no_error_of_ours(path: str) -> None:
    """Not even one that is no UTF-8, which fails where it is quoted."""
    answer = await asked(get(path, b"expect: 1\xae0-continue"))
    assert answer.split()[1] in (b"200", b"404")


async def test_who_waits_for_a_word_before_the_body_gets_it() -> None:
    """As curl does with larger bodies."""
    answer = await asked(get("/fine", b"expect: 100-continue", b"content-length: 0", method="POST"))
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


async def test_what_is_no_http_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """A mistake of ours is."""
    caplog.set_level(logging.DEBUG)
    assert (await asked(b"GET / HTTP/1.1\r\nbad\x00header: x\r\n\r\n")).startswith(b"HTTP/1.0 400")
    assert [record for record in caplog.records if record.name == "tokenmill.gateway.http.server"] == []
    assert (await asked(get("/broken"))).startswith(b"HTTP/1.1 200")
    (record,) = (record for record in caplog.records if record.name == "tokenmill.gateway.http.server")
    assert record.exc_info is not None
