"""The connection of a WebSocket: whole frames are written to it, past the library's own writer."""

import asyncio
import socket

from aiohttp import web

from tokenmill.gateway.streams.http_pipe import SEND_BUFFER


class WebSocketPipe:
    """The connection of one WebSocket whose handshake is done. All conversations that the socket reads share it."""

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
        self._turn = asyncio.Lock()
        self._awaited = 0
        """Bytes of the last `send` that the kernel may not have taken yet: they are its caller's, and bounded."""

    async def send(self, data: bytes) -> None:
        """Write, and wait until the client takes it, one caller at a time.

        Raises `ConnectionError` and `TimeoutError`.
        """
        async with self._turn:
            if self._transport.is_closing():
                raise ConnectionResetError("the client left")
            self._awaited = self._transport.get_write_buffer_size() + len(data)
            self.write(data)
            try:
                async with asyncio.timeout(self._send_s):
                    await self._writer.drain()
            finally:
                self._awaited = self._transport.get_write_buffer_size()  # the rest, although no caller waits for it

    def write(self, data: bytes) -> None:
        """Hand whole frames to the transport immediately."""
        if data and not self._transport.is_closing():
            self._transport.write(data)

    @property
    def buffered(self) -> int:
        """Bytes that the kernel has not taken yet, beyond those of the last `send`, whether it still waits or not."""
        size = self._transport.get_write_buffer_size()
        if not self._turn.locked():
            self._awaited = min(self._awaited, size)
        return max(0, size - self._awaited)

    def reset(self) -> None:
        """End the connection without a close frame."""
        self._transport.abort()
