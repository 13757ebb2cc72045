"""A gateway with WebSockets, and a client that says what it heard."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.support.gateways import Gate, admission, listening, shown
from tests.support.written import Written
from tokenmill.config import Config
from tokenmill.gateway.auth.grant import Authorizer, Credentials, Grant, unauthenticated
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.routes.websockets import WebSocketRoutes
from tokenmill.gateway.routes.writes import WriteRoutes

HANDSHAKE = (
    b"GET /v1/conversations/c/ws?from=now HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)

MASK = b"\x00\x00\x00\x00"
"""Changes nothing, and is one."""


class Token(Authorizer):
    """Lets a client with the right word read `c…`, as long as that is valid."""

    valid = True

    async def grant(self, credentials: Credentials) -> Grant:
        if credentials.bearer != "word":
            raise unauthenticated("say the word", "missing")
        return Grant("ann", ("c*",), frozenset({"read", "stop"}))

    def holds(self, grant: Grant) -> bool:  # noqa: ARG002 -- there is one
        return self.valid


class Stand:
    """A gateway with WebSockets, and what was written by them."""

    def __init__(self, gate: Gate, sockets: WebSocketRoutes, written: Written) -> None:
        self.gate = gate
        self.sockets = sockets
        self.written = written

    def open(self, path: str, **options: Any) -> connect:
        """A client."""
        return connect(f"ws://127.0.0.1:{self.gate.port}{path}", compression=None, **options)


@asynccontextmanager
async def stood(kafka: str, unique: str, authorizer: Authorizer | None = None, **settings: Any) -> AsyncIterator[Stand]:
    """Such a gateway; without rights everybody may do everything."""
    made: list[WebSocketRoutes] = []
    admitted, written = admission(authorizer), Written()
    writing = WriteRoutes(Config(), written, admitted, Counts())

    def routes(serving: Any) -> Any:
        writes = {"stop": writing.say_stop, "tool_result": writing.say_tool_result}
        made.append(WebSocketRoutes(serving, admitted, writes))
        return made[0].routes()

    async with listening(kafka, unique, routes, **settings) as gate:
        yield Stand(gate, made[0], written)


async def heard(socket: ClientConnection) -> tuple[list[dict[str, Any]], int | None]:
    """All messages up to the close, and its code."""
    messages = []
    try:
        async with asyncio.timeout(20):
            while True:
                messages.append(json.loads(await socket.recv()))
    except ConnectionClosed as closed:
        return messages, closed.rcvd.code if closed.rcvd else None


def data_of(messages: list[dict[str, Any]], conversation: str | None = None) -> list[Any]:
    """The payloads."""
    return [each["data"] for each in messages if "id" in each and "data" in each and of(each, conversation)]


def of(message: dict[str, Any], conversation: str | None) -> bool:
    """Whether a message is of a conversation."""
    return conversation is None or message["conversation"] == conversation


def wanted(records: Any, dialect: str) -> list[Any]:
    """The payloads that the library makes."""
    return [json.loads(each) if each.startswith(b"{") else each.decode() for each in shown(records, dialect)]


async def read_all(reader: asyncio.StreamReader) -> bytes:
    """Until the end, however it comes."""
    came = b""
    try:
        while data := await reader.read(65_536):
            came += data
    except ConnectionError:
        pass
    return came
