"""An HTTP answer that never ends, written to its transport without a task that waits for each client.

`StreamResponse.write` costs twice what writing to the transport does, and waits when a client is slow. It is used for
the headers and for past frames, where waiting is right; live frames go to the transport, framed as the chunks that the
answer was prepared for.
"""

import asyncio
import socket
import struct

from aiohttp import HttpVersion11, web

from tokenmill.gateway.streams.outbox import PIECE_BYTES

SEND_BUFFER = 128 * 1024
"""Bytes that the kernel may hold for one client. By default it takes megabytes, which would hide a slow client."""

UNHEARD_S = 60
"""Seconds after which a peer that acknowledges nothing, not even heartbeats, counts as gone. By default the kernel
tries for a quarter of an hour."""

NOW = struct.pack("ii", 1, 0)
"""Value of `SO_LINGER` with which closing discards what was not sent, and resets the connection."""


class HttpPipe:
    """The connection of one prepared answer."""

    __slots__ = ("_response", "_send_s", "_transport", "_writer")

    def __init__(self, request: web.Request, response: web.StreamResponse, send_s: float) -> None:
        transport = request.transport
        if transport is None:
            raise ConnectionResetError("the client left")
        self._transport = transport
        self._response = response
        self._writer = request.writer
        self._send_s = send_s

    @classmethod
    async def opened(cls, request: web.Request, response: web.StreamResponse, send_s: float) -> "HttpPipe":
        """Send the headers. Raises `ConnectionResetError` for a client that is gone."""
        pipe = cls(request, response, send_s)
        pipe.bound()
        end_is_seen(request, response)
        await response.prepare(request)
        return pipe

    def bound(self) -> None:
        """Limit how much the kernel holds for it, and for how long."""
        sock = self._transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
            if hasattr(socket, "TCP_USER_TIMEOUT"):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNHEARD_S * 1000)

    async def send(self, data: bytes) -> None:
        """Write, and wait until the client takes it and what came before. Raises `TimeoutError` if it does not.

        Each piece has its own deadline: a client that takes much slowly is still there.
        """
        for start in range(0, len(data) or 1, PIECE_BYTES):
            async with asyncio.timeout(self._send_s):
                await self._response.write(data[start : start + PIECE_BYTES])
                await self._writer.drain()

    async def finish(self) -> None:
        """End the answer in the way that clients take for its end. Raises `TimeoutError` as `send` does."""
        async with asyncio.timeout(self._send_s):
            await self._response.write_eof()

    def write(self, data: bytes) -> None:
        """Hand bytes to the transport immediately. Empty data is not written: an empty chunk ends an answer."""
        if not data or self._transport.is_closing():
            return
        self._transport.write(b"%x\r\n%b\r\n" % (len(data), data) if self._response.chunked else data)

    @property
    def buffered(self) -> int:
        """Bytes that the kernel did not take yet."""
        return self._transport.get_write_buffer_size()

    def reset(self) -> None:
        """End the connection so that no client takes it for the end of the answer, not even one of HTTP/1.0."""
        sock = self._transport.get_extra_info("socket")
        if sock is not None and not self._transport.is_closing():
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NOW)
        self._transport.abort()


def end_is_seen(request: web.Request, response: web.StreamResponse) -> None:
    """Mark the end of an answer of unknown length: by chunks, or before HTTP/1.1 by closing its connection."""
    if request.version >= HttpVersion11:
        response.enable_chunked_encoding()
    else:
        response.force_close()


async def sent_whole(request: web.Request, answer: web.Response, send_s: float) -> web.Response:
    """Send a complete answer while its client holds a slot; a client that takes nothing is cut off.

    What a handler returns is written after the handler, for as long as the client likes.
    """
    pipe = HttpPipe(request, answer, send_s)
    pipe.bound()
    try:
        await answer.prepare(request)
        if isinstance(answer.body, bytes):
            await pipe.send(answer.body)
            answer.body = None  # it is written
        await pipe.finish()
    except TimeoutError:
        pipe.reset()
    return answer
