"""A relay in front of a server: it passes TCP connections on, resets them, or holds back what they carry."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

HELD = 10_000
"""Pieces of one direction that are held back: half a second of far more than a test sends."""

AT_ONCE = 64 * 1024
"""Bytes of a piece."""

RESET = struct.pack("ii", 1, 0)
"""To linger for no time: the other end gets a reset, and no orderly end."""


class Relay:
    """Passes connections on to a port of the loopback interface."""

    def __init__(self, target: int) -> None:
        self.delay_s = 0.0
        """By so much later comes what is sent from now on, in each direction."""
        self._target = target
        self._writers: set[asyncio.StreamWriter] = set()

    @asynccontextmanager
    async def open(self, port: int) -> AsyncIterator[None]:
        """Listen at that port of the loopback interface."""
        server = await asyncio.start_server(self._pass, "127.0.0.1", port)
        try:
            yield
        finally:
            server.close()
            self.reset()

    def reset(self) -> None:
        """Reset all connections that there are."""
        for writer in self._writers:
            connection: socket.socket = writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.transport.abort()
        self._writers.clear()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:  # the server is away: whoever asks hears of it
            self._close(writer)
            return
        self._writers.add(back)
        await asyncio.gather(self._carry(reader, back), self._carry(there, writer))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One direction, to its end."""
        held: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(HELD)
        delivering = asyncio.create_task(self._deliver(held, writer))
        loop = asyncio.get_running_loop()
        while data := await _read(reader):
            await held.put((loop.time() + self.delay_s, data))
        await held.put((loop.time() + self.delay_s, b""))
        await delivering

    async def _deliver(self, held: "asyncio.Queue[tuple[float, bytes]]", writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due, data = await held.get()
            await asyncio.sleep(due - loop.time())
            if not data:
                break
            writer.write(data)  # to a connection that was reset it goes nowhere
        self._close(writer)

    def _close(self, writer: asyncio.StreamWriter) -> None:
        self._writers.discard(writer)
        writer.close()


async def _read(reader: asyncio.StreamReader) -> bytes:
    """What comes next; nothing where the connection has ended, however it did."""
    try:
        return await reader.read(AT_ONCE)
    except OSError:
        return b""
