"""Answers by HTTP are no longer than allowed."""

import json
from collections.abc import AsyncIterator

import httpx2
import pytest
from aiohttp import web

from tests.support.pipes import soon
from tokenmill.servers.process import free_port
from tokenmill.tools.program import ANSWER_BYTES, TOO_LONG
from tokenmill.tools.remote import COMPRESSED, FORGOTTEN, SESSION, client_of, whole_pairs
from tokenmill.tools.server_file import Remote

PIECE = 64 * 1024


async def answered(request: web.Request) -> web.StreamResponse:
    """So many pieces, each with an end of an event or not."""
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["x-own"] == "1"
    response = web.StreamResponse(headers={"content-type": request.query["type"]})
    await response.prepare(request)
    for _ in range(int(request.query["pieces"])):
        await response.write(b"x" * (PIECE - 2) + request.query["end"].encode())
    return response


async def coded(request: web.Request) -> web.Response:
    return web.Response(body=b"{}", headers={"content-encoding": request.query["as"]})


async def moved(_: web.Request) -> web.StreamResponse:
    raise web.HTTPFound("/")


async def done(_: web.Request) -> web.Response:
    return web.Response(text="done")


@pytest.fixture
async def url() -> AsyncIterator[str]:
    """Of a server that says what it is told to."""
    app = web.Application()
    app.add_routes([web.get("/", answered), web.get("/coded", coded), web.post("/", done)])
    app.router.add_route("*", "/moved", moved)
    runner, port = web.AppRunner(app), free_port()
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    yield f"http://127.0.0.1:{port}/"
    await runner.cleanup()
    await soon()


async def size(url: str, type_: str, pieces: int, end: str) -> int:
    async with client_of(Remote("r", url, {"x-own": "1"})) as client:
        answer = await client.get(url, params={"type": type_, "pieces": str(pieces), "end": end})
        return len(answer.content)


async def test_an_answer_ends_at_the_limit(url: str) -> None:
    """Up to it all is as it was."""
    most = ANSWER_BYTES // PIECE
    assert await size(url, "application/json", most, "xx") == ANSWER_BYTES
    with pytest.raises(httpx2.ReadError, match=TOO_LONG):
        await size(url, "application/json", most + 1, "xx")
    with pytest.raises(httpx2.ReadError, match=TOO_LONG):
        await size(url, "application/json", most + 1, "\n\n")


async def test_a_stream_may_be_long(url: str) -> None:
    """Its events may not, which is for whoever reads them to say."""
    most = ANSWER_BYTES // PIECE
    assert await size(url, "Text/Event-Stream; charset=utf-8", 2 * most, "\n\n") == 2 * ANSWER_BYTES
    with pytest.raises(httpx2.ReadError, match=TOO_LONG):
        await size(url, "application/json; like=text/event-stream", most + 1, "xx")


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_nobody_is_sent_elsewhere(url: str, method: str) -> None:
    """With headers that are for one server, at whatever address of it."""
    async with client_of(Remote("r", url, {"x-own": "1"})) as client:
        answer = await client.request(method, f"{url}moved")
        assert (answer.status_code, answer.next_request) == (502, None)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"\ud83d\ude00", "\N{GRINNING FACE}"),
        (r"\ud83d \uDE00\ud83d\u00e9", "\ufffd \ufffd\ufffd\xe9"),
        (r"\\ud83d \\\ud83d\\ \ud83d\n", "\\ud83d \\\ufffd\\ \ufffd\n"),
    ],
)
def test_half_a_pair_is_a_character_however_it_comes(written: str, read: str) -> None:
    """Nothing else is another than before, where its backslashes are written twice neither."""
    data = f'"{written}"'.encode()
    for first in range(len(data) + 1):
        for second in range(first, len(data) + 1):
            taken, held = b"", b""
            for piece in (data[:first], data[first:second], data[second:]):
                whole, held = whole_pairs(held + piece)
                taken += whole
            assert json.loads(taken + held) == read


@pytest.mark.parametrize("coding", ["gzip", "deflate", "identity, gzip"])
async def test_an_answer_that_is_compressed_is_not_taken(url: str, coding: str) -> None:
    """Nobody asked for it, and a few bytes of it may be many: bounds count those on the way."""
    async with client_of(Remote("r", url, {"x-own": "1"})) as client:
        with pytest.raises(httpx2.ReadError, match=COMPRESSED):
            await client.get(f"{url}coded", params={"as": coding})
        assert (await client.get(f"{url}coded", params={"as": "Identity"})).content == b"{}"


async def test_that_a_session_is_forgotten_is_said_in_one_way(url: str) -> None:
    """Behind a message of one; that there is nothing else at an address is the server's to say."""
    async with client_of(Remote("r", url)) as client:
        gone = await client.post(f"{url}gone", headers={SESSION: "1"}, json={})
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, FORGOTTEN)
        for method, path, session in (
            ("POST", "gone", {}),
            ("GET", "gone", {SESSION: "1"}),
            ("POST", "", {SESSION: "1"}),
        ):
            other = await client.request(method, f"{url}{path}", headers=session)
            assert str(FORGOTTEN) not in other.text
