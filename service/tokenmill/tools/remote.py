"""A server that is reached by HTTP, by a client that takes no answer of any length.

Answers are not compressed, and those that are all the same are not read: what is small on its way may be large here.
Redirects are not followed: no server sends us elsewhere with our headers. What a server says that has forgotten our
session is replaced by an error of ours: each has words of its own, and whoever called has to know that no tool was.
"""

from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import cast

import httpx2

from tokenmill.tools.program import ANSWER_BYTES, TOO_LONG
from tokenmill.tools.server_file import Remote

CONNECT_S = 10.0
"""For a connection. How long an answer may take is the business of each request."""


PLAIN = "identity"

SESSION = "mcp-session-id"
"""The protocol's header. Where a message has it the answer 404 says that there is no such session."""

FORGOTTEN = -20_404
"""The code of our error for that. None of the protocol's, and none that a server has reason to choose."""

_FORGOTTEN = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {"code": FORGOTTEN, "message": "the server has forgotten the session"},
}

COMPRESSED = "the answer is compressed, which was not asked for"


def client_of(server: Remote) -> httpx2.AsyncClient:
    """A client that is open as long as its block lasts."""
    return httpx2.AsyncClient(
        headers={**server.headers, "accept-encoding": PLAIN},
        timeout=httpx2.Timeout(None, connect=CONNECT_S),
        follow_redirects=False,
        transport=Bounded(),
    )


class Bounded(httpx2.AsyncHTTPTransport):
    """Breaks off answers that are too long, in a stream of events each event; and takes none that is compressed.

    Says in one way that a session is forgotten.
    """

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """As the base does it."""
        response = await super().handle_async_request(request)
        if response.status_code == HTTPStatus.NOT_FOUND and request.method == "POST" and SESSION in request.headers:
            await response.aclose()
            return httpx2.Response(HTTPStatus.NOT_FOUND, json=_FORGOTTEN)
        if response.headers.get("content-encoding", PLAIN).strip().lower() != PLAIN:
            await response.aclose()
            raise httpx2.ReadError(COMPRESSED)
        events = "text/event-stream" in response.headers.get("content-type", "")
        response.stream = _Bounded(cast(httpx2.AsyncByteStream, response.stream), events=events)
        return response


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, *, events: bool) -> None:
        self._stream = stream
        self._events = events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size = len(piece) if self._events and _ends_event(piece) else size + len(piece)
            if size > ANSWER_BYTES:
                raise httpx2.ReadError(TOO_LONG)
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def _ends_event(piece: bytes) -> bool:
    """Whether an event ends in it: what follows is another one, of which not more than the piece has come."""
    return b"\n\n" in piece or b"\r\n\r\n" in piece
