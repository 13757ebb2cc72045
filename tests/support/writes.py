"""A gateway's write side on a port of its own, without Kafka behind it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import msgspec
from aiohttp import ClientSession

from tests.support.serving_app import serving_app
from tests.support.written import Written, told
from tokenmill.config import Config, Gateway
from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.auth.connection_limits import ConnectionLimits
from tokenmill.gateway.auth.grant import Action, Authorizer, Credentials, Grant
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.http.app import client_app
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.gateway.http.origins import Origins
from tokenmill.gateway.routes.writes import OpenMessages, WriteRoutes


class Answer:
    """Status, headers and the body as JSON."""

    def __init__(self, status: int, headers: Any, body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body: dict[str, Any] = msgspec.json.decode(body) if body else {}

    @property
    def detail(self) -> str:
        return str(self.body["detail"])


class Told(Authorizer):
    """Everybody may do what the header `x-may` says, or anything."""

    def __init__(self) -> None:
        self.valid = True

    async def grant(self, credentials: Credentials) -> Grant:
        actions = credentials.headers.get("x-may", "write stop").split()
        return Grant("service", ("*",), frozenset(cast("list[Action]", actions)))

    def holds(self, grant: Grant) -> bool:  # noqa: ARG002 -- all are the same
        return self.valid


class Client:
    """A gateway's write side, and what was written through it."""

    def __init__(self, open_messages: OpenMessages | None = None) -> None:
        self.written = Written()
        self.authorizer = Told()
        self.limits = ConnectionLimits(10, 1)
        self.counts = Counts()
        self.port = 0
        admission = Admission(self.authorizer, self.limits)
        config = Config(gateway=Gateway(body_kib=1, connections_per_principal=1))
        self.writing = WriteRoutes(config, self.written, admission, self.counts, open_messages)

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

    def story(self) -> dict[str, list[str]]:
        """What a worker makes of what was written."""
        return told((record.value, record.headers) for record in self.written.records)

    async def half(self, path: str, body: bytes, kind: str = "text/event-stream") -> asyncio.StreamWriter:
        """A connection over which the beginning of a body was sent, of SSE if nothing else is said."""
        _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        head = f"POST /v1/conversations/{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\n"
        writer.write(f"{head}content-length: 999\r\n\r\n".encode() + body)
        await writer.drain()
        return writer


@asynccontextmanager
async def serving(open_messages: OpenMessages | None = None) -> AsyncIterator[Client]:
    client = Client(open_messages)
    app = client_app(client.writing.routes(), client.counts, Origins(Gateway()), IdleConnections(), 1024)
    async with serving_app(app, handler_cancellation=True, shutdown_timeout=0.1) as client.port:
        yield client
    await client.writing.close(1)
