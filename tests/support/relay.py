"""What stands between clients and a server: it passes connections on, resets them, holds back what they carry, or
answers nobody, as a network does that loses everything.
"""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Self

from tests.support.resets import reset_when_closed

HELD = 1_000
"""Pieces of one direction that are held back: half a second of far more than a test sends."""

PIECE_BYTES = 64 * 1024

UNHEARD_S = 0.3
"""A connection on this machine that is not made by then has met a full queue."""


class Relay:
    """Passes connections on to a port of the loopback interface."""

    def __init__(self, target: int, port: int = 0) -> None:
        """It is found at `port`; 0 is any that is free."""
        self.port = port
        self.opened = 0
        """Connections that were made."""
        self.delay_s = 0.0
        """By so much later comes what is sent from now on, in each direction."""
        self.carried = sys.maxsize
        """So many bytes of each connection made from now on reach the server, which then sees its end."""
        self._target = target
        self._writers: set[asyncio.StreamWriter] = set()
        """Of all connections since the last reset; one that is closed may still have something to send."""
        self._over = False
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        await self._listen()
        return self

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = int(self._server.sockets[0].getsockname()[1])

    @asynccontextmanager
    async def deaf(self) -> AsyncIterator[None]:
        """While it lasts, new connections are not answered, not even by the kernel. Those that there are stay as they
        are.

        The kernel answers for a listener until its queue is full, so it is filled.
        """
        assert self._server is not None
        self._server.close()
        loop = asyncio.get_running_loop()
        with ExitStack() as sockets:
            listener = sockets.enter_context(socket.socket())
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", self.port))
            listener.listen(0)
            with suppress(TimeoutError):
                while True:
                    waiting = sockets.enter_context(socket.socket())
                    waiting.settimeout(0)
                    async with asyncio.timeout(UNHEARD_S):
                        await loop.sock_connect(waiting, listener.getsockname())
            yield
        await self._listen()

    async def __aexit__(self, *exception: object) -> None:
        assert self._server is not None
        self._over = True
        self._server.close()
        self.reset()

    def reset(self) -> None:
        """Reset all connections that there are."""
        for writer in self._writers:
            connection = writer.get_extra_info("socket")
            if connection is not None and connection.fileno() >= 0:
                reset_when_closed(connection)
            writer.transport.abort()
        self._writers.clear()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        self._writers.add(writer)
        try:
            behind, there = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:  # the server is away, and its client hears of it
            writer.close()
            return
        self._writers.add(there)
        if self._over:  # while this connection was made
            self.reset()
        await asyncio.gather(self._pass_on(reader, there, self.carried), self._pass_on(behind, writer, sys.maxsize))

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: int) -> None:
        """One direction, to its end, or until so many bytes are passed on."""
        held: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(HELD)
        delivering = asyncio.create_task(self._deliver(held, writer))
        loop = asyncio.get_running_loop()
        while left > 0 and (data := await _read(reader)):
            await held.put((loop.time() + self.delay_s, data[:left]))
            left -= len(data)
        await held.put((loop.time() + self.delay_s, b""))
        await delivering

    async def _deliver(self, held: "asyncio.Queue[tuple[float, bytes]]", writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due, data = await held.get()
            await asyncio.sleep(due - loop.time())
            if not data:
                break
            with suppress(OSError):  # to a connection that was reset it goes nowhere
                writer.write(data)
                await writer.drain()
        writer.close()


async def _read(reader: asyncio.StreamReader) -> bytes:
    """What comes next; nothing where the connection has ended, however it did."""
    try:
        return await reader.read(PIECE_BYTES)
    except OSError:
        return b""
