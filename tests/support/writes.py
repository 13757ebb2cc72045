"""A gateway's write side on a port of its own, without Kafka behind it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import ClientSession, web

from tests.support.written import Written
from tokenmill.config import Config, Gateway
from tokenmill.gateway.problems import FORBIDDEN, Refused
from tokenmill.gateway.server import answered
from tokenmill.gateway.writing import OpenMessages, Writing


class Answer:
    """Status, headers and the body as JSON."""

    def __init__(self, status: int, headers: Any, body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body: dict[str, Any] = msgspec.json.decode(body) if body else {}

    @property
    def detail(self) -> str:
        return str(self.body["detail"])


class Client:
    """A gateway's write side, and what was written through it."""

    def __init__(self, open_messages: OpenMessages | None = None) -> None:
        self.written = Written()
        self.asked: list[tuple[str, str]] = []
        """For which rights."""
        self.port = 0
        self.writing = Writing(Config(gateway=Gateway(body_kib=1)), self.written, self._check, open_messages)

    async def _check(self, request: web.Request, conversation: str, action: str) -> None:
        self.asked.append((conversation, action))
        if "x-nobody" in request.headers:
            raise Refused(FORBIDDEN, "not yours")

    async def __call__(self, path: str, body: Any = b"", *, method: str = "POST", **headers: str) -> Answer:
        """A request; structures are sent as JSON."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if not isinstance(body, bytes | AsyncIterator):
            body, named = msgspec.json.encode(body), {"content-type": "application/json"} | named
        address = f"http://127.0.0.1:{self.port}/v1/conversations/{path}"
        async with (
            asyncio.timeout(5),
            ClientSession() as session,
            session.request(method, address, data=body, headers=named) as response,
        ):
            return Answer(response.status, response.headers, await response.read())

    async def half(self, path: str, body: bytes) -> asyncio.StreamWriter:
        """A connection over which the beginning of an SSE body was sent."""
        _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        head = f"POST /v1/conversations/{path} HTTP/1.1\r\nhost: x\r\ncontent-type: text/event-stream\r\n"
        writer.write(f"{head}content-length: 9999\r\n\r\n".encode() + body)
        await writer.drain()
        return writer


@asynccontextmanager
async def serving(open_messages: OpenMessages | None = None) -> AsyncIterator[Client]:
    client = Client(open_messages)
    app = web.Application(middlewares=[answered])
    client.writing.add_routes(app)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    client.port = runner.addresses[0][1]
    yield client
    await runner.cleanup()
    await client.writing.close(1)
