"""The connection of a WebSocket, to which whole frames are written past the library's own writer."""

import asyncio
import socket

from aiohttp import web

from tokenmill.gateway.streams.http_pipe import SEND_BUFFER


class WebSocketPipe:
    """The connection of one WebSocket whose handshake is done."""

    def __init__(self, request: web.BaseRequest, send_s: float) -> None:
        transport = request.transport
        if transport is None:
            raise ConnectionResetError("the client left")
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        self._transport = transport
        self._writer = request.writer
        self._send_s = send_s

    async def send(self, data: bytes) -> None:
        """Write, and wait until the client takes it. Raises `ConnectionError` and `TimeoutError`."""
        if self._transport.is_closing():
            raise ConnectionResetError("the client left")
        self.write(data)
        async with asyncio.timeout(self._send_s):
            await self._writer.drain()

    def write(self, data: bytes) -> None:
        """Hand whole frames to the transport, at once."""
        if data and not self._transport.is_closing():
            self._transport.write(data)

    @property
    def buffered(self) -> int:
        """Bytes that the kernel did not take yet."""
        return self._transport.get_write_buffer_size()

    def reset(self) -> None:
        """End the connection without a close frame."""
        self._transport.abort()
