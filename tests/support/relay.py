"""What stands between clients and a server: it passes connections on, resets them, or holds back what they carry."""

import asyncio
from contextlib import suppress
from typing import Self

from tests.support.resets import reset_when_closed

HELD = 1_000
"""Pieces of one direction that are held back: half a second of far more than a test sends."""

PIECE_BYTES = 64 * 1024


class Relay:
    """Passes connections on to a port of the loopback interface."""

    def __init__(self, target: int, port: int = 0) -> None:
        """It is found at `port`; 0 is any that is free."""
        self.port = port
        self.opened = 0
        """Connections that were made."""
        self.delay_s = 0.0
        """By so much later comes what is sent from now on, in each direction."""
        self._target = target
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *exception: object) -> None:
        assert self._server is not None
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
        except OSError:  # the server is away: whoever asks hears of it
            self._close(writer)
            return
        self._writers.add(there)
        await asyncio.gather(self._pass_on(reader, there), self._pass_on(behind, writer))

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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
            with suppress(OSError):  # to a connection that was reset it goes nowhere
                writer.write(data)
                await writer.drain()
        self._close(writer)

    def _close(self, writer: asyncio.StreamWriter) -> None:
        self._writers.discard(writer)
        writer.close()


async def _read(reader: asyncio.StreamReader) -> bytes:
    """What comes next; nothing where the connection has ended, however it did."""
    try:
        return await reader.read(PIECE_BYTES)
    except OSError:
        return b""
