"""The demo's client of the front, at a model server, which speaks the same."""

from collections.abc import AsyncIterator

import pytest
from aiohttp.test_utils import TestServer

from tokenmill.demo.client import Client
from tokenmill.demo.model_server import PATH, SAMPLES, model_server
from tokenmill.demo.pieces import Piece, of_chat
from tokenmill.errors import FatalError

BODY = {"model": "plain", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with TestServer(model_server()) as server:
        yield str(server.make_url("")).rstrip("/")


async def test_an_answer_is_shown_as_it_comes(url: str) -> None:
    """And added up; its payloads are there, too."""
    shown = list[Piece]()
    async with Client(url) as client:
        told, payloads = await client.stream(PATH, BODY, of_chat, shown.append)
        whole = await client.whole(PATH, BODY)
    assert "".join(piece.text for piece in shown if piece.kind == "text") == told.text == SAMPLES["plain"]
    assert shown[-1] == Piece("finish", "stop")
    assert len(payloads) == len(shown)  # the role has no piece, and the last token has two
    assert whole["choices"][0]["message"]["content"] == SAMPLES["plain"]


async def test_what_is_no_answer_fails(url: str) -> None:
    """With what the server said of it, or that there is none."""
    async with Client(url) as client:
        with pytest.raises(FatalError, match=r"POST /v1/chat/completions: 404 .*does not exist"):
            await client.whole(PATH, {**BODY, "model": "other"})
        with pytest.raises(FatalError, match="GET /v1/nothing: 404"):
            await client.events(f"{url}/v1/nothing")
    async with Client("http://127.0.0.1:1") as client:
        for asked in (
            client.whole(PATH, BODY),
            client.stream(PATH, BODY, of_chat, print),
            client.events("http://[::1"),
        ):
            with pytest.raises(FatalError):
                await asked
