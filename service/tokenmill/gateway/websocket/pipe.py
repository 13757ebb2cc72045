"""The connection of a WebSocket: whole frames are written to it, past the library's own writer."""

import asyncio
import socket

from aiohttp import web

from tokenmill.gateway.streams.http_pipe import SEND_BUFFER
from tokenmill.gateway.streams.outbox import PIECE_BYTES
from tokenmill.tasks import looked_at


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
        self._draining: asyncio.Task[None] | None = None
        """Ends when the client has taken what was written, or the connection is lost."""
        self._awaited = 0
        """Bytes of the last `send` that the kernel may not have taken yet: they are its caller's, and bounded."""

    async def send(self, data: bytes) -> None:
        """Write, and wait until the client takes it, one caller at a time.

        A client that takes much slowly is still there: a piece has the time that a small frame has. Raises
        `ConnectionError` and `TimeoutError`.
        """
        async with self._turn:
            if self._transport.is_closing():
                raise ConnectionResetError("the client left")
            self._awaited = self._transport.get_write_buffer_size() + len(data)
            self.write(data)
            try:
                while not await self._drained():
                    pass
            finally:
                self._awaited = self._transport.get_write_buffer_size()  # the rest, although no caller waits for it

    async def _drained(self) -> bool:
        """Wait until the client has taken what was written. Returns False if it took a piece of it in its time.

        A frame can't be written in pieces, as others write whole frames meanwhile. Raises `TimeoutError` and
        `ConnectionError`.
        """
        before = self._transport.get_write_buffer_size()
        if self._draining is None or self._draining.done():
            # A task of its own: aiohttp's future is the same for all, and the next who waits would be cancelled, too.
            self._draining = asyncio.create_task(self._writer.drain(), name="a WebSocket's client takes its frames")
            self._draining.add_done_callback(looked_at)
        await asyncio.wait({self._draining}, timeout=self._send_s)
        if self._draining.done():
            self._draining.result()
            return True
        if before - self._transport.get_write_buffer_size() < PIECE_BYTES:
            raise TimeoutError
        return False

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
