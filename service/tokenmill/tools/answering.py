"""The requests of a server, as to answer a ping, answered where messages are read: one before the next is read.

The SDK begins a task for each request. A server that asks on and on, and does not read what it is answered, would fill
our memory with them. Here it waits for itself. Other requests than a ping are refused, as we offer servers nothing.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

import anyio
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp.types import METHOD_NOT_FOUND, ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse


@asynccontextmanager
async def answering(transport: Transport) -> AsyncIterator[tuple[Any, Any]]:
    """Use a transport; yield its messages without a server's requests, and a stream for ours."""
    async with transport as (received, sent):
        yield _Answers(received, sent), sent


class _Answers:
    """A server's messages but for its requests."""

    def __init__(self, received: Any, sent: Any) -> None:
        self._received = received
        self._sent = sent

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message. Raises as the transport's stream does."""
        while True:
            item: SessionMessage | Exception = await self._received.receive()
            request = item.message if isinstance(item, SessionMessage) else None
            if not isinstance(request, JSONRPCRequest):
                return item
            await self._sent.send(SessionMessage(_answer(request)))

    async def aclose(self) -> None:
        """Close the transport's stream."""
        await self._received.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):  # no more messages, or nobody takes our answers
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _answer(request: JSONRPCRequest) -> JSONRPCResponse | JSONRPCError:
    if request.method == "ping":
        return JSONRPCResponse(jsonrpc="2.0", id=request.id, result={})
    error = ErrorData(code=METHOD_NOT_FOUND, message=f"{request.method!r} is not offered to servers")
    return JSONRPCError(jsonrpc="2.0", id=request.id, error=error)
