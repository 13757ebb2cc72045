"""The web service on the page about embedding, between a client and a model server that are played here."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import suppress
from typing import Any

import httpx
import pytest

from tests.structure.pages import blocks

Message = MutableMapping[str, Any]

CHUNK = b'data: {"id":"x","choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'


class Endless(httpx.AsyncByteStream):
    """An answer that ends only when nobody reads it."""

    closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield CHUNK
            await asyncio.sleep(0)

    async def aclose(self) -> None:
        self.closed = True


def example(answer: httpx.Response) -> Any:
    """The page's application, whose model server gives this answer."""
    (block,) = (block for block in blocks("python") if "FastAPI()" in block.text and "convert_async" in block.text)
    program: dict[str, Any] = {}
    exec(block.text, program)  # noqa: S102 -- it is the page's program that is tested
    program["client"] = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: answer))
    return program["app"]


async def ask(app: Any, version: str, leaves_after: int) -> list[Message]:
    """What the application sends to a client that leaves after this many messages."""
    sent: list[Message] = []
    left = asyncio.Event()
    body = [{"type": "http.request", "body": b'{"model": "m", "messages": []}', "more_body": False}]

    async def receive() -> Message:
        if body:
            return body.pop()
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)
        if len(sent) >= leaves_after:
            left.set()
            if version == "2.4":
                raise OSError
            await asyncio.Event().wait()  # the connection's buffer is full, until the server gives up

    asgi = {"version": "3.0", "spec_version": version}
    scope = {"type": "http", "asgi": asgi, "method": "POST", "path": "/v1/messages", "query_string": b"", "headers": []}
    async with asyncio.timeout(10):
        with suppress(Exception):  # servers log that a client has left
            await app(scope, receive, send)
    return sent


@pytest.mark.parametrize("version", ["2.3", "2.4"])
async def test_a_client_that_leaves_stops_the_model(version: str) -> None:
    """At once, not when its objects are collected; this test still holds the answer."""
    endless = Endless()
    answer = httpx.Response(200, stream=endless)
    await ask(example(answer), version, 4)
    assert endless.closed


async def test_a_refusal_of_the_model_server_is_passed_on() -> None:
    """With its status: an empty answer would look like one of the model."""
    sent = await ask(example(httpx.Response(502, content=b"bad gateway")), "2.3", 9)
    assert (sent[0]["status"], sent[1]["body"]) == (502, b"bad gateway")
