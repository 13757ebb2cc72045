"""A server that speaks HTTP by hand: it answers bytes and pauses, then come silence, the end, or the loss of all."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Literal, TypeAlias

from tests.support.resets import reset_when_closed

Then: TypeAlias = Literal["close", "reset", "silent", "again"]

SSE = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
TURNS = 20


def answer(status: int, body: bytes, *, more: str = "") -> bytes:
    """A whole answer."""
    head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


def chunk(data: bytes) -> bytes:
    """A piece of a body behind `SSE`."""
    return b"%x\r\n%b\r\n" % (len(data), data)


class RawServer:
    """Answers each request with the same bytes; `again`: it waits for the next one on the same connection."""

    def __init__(self, pieces: Sequence[bytes | float], then: Then) -> None:
        self._pieces = pieces
        self._then = then
        self._writers: list[asyncio.StreamWriter] = []
        self.requests: list[bytes] = []
        self.answers = 0
        """How many were written."""
        self.written = 0
        """How many pieces of them were."""
        self.left = asyncio.Event()
        """Its client has closed the connection."""
        self.url = ""

    @property
    def connections(self) -> int:
        """How many there were."""
        return len(self._writers)

    async def respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self._writers.append(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await self._answer(reader, writer)
            while self._then == "again":
                await self._answer(reader, writer)
        if self._then == "silent":
            with suppress(ConnectionError):
                await reader.read()
            self.left.set()
        if self._then == "reset":
            reset_when_closed(writer.get_extra_info("socket"))
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        self.requests.append(head + await reader.readexactly(size))
        for piece in self._pieces:
            if isinstance(piece, float):
                await asyncio.sleep(piece)
                continue
            self.written += 1
            writer.write(piece)
            await writer.drain()
            for _ in range(TURNS):
                await asyncio.sleep(0)  # a client in this loop reads it before the next one comes
        self.answers += 1

    async def close(self) -> None:
        """Leave no connection."""
        for writer in self._writers:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


@asynccontextmanager
async def raw_server(*pieces: bytes | float, then: Then = "close") -> AsyncIterator[RawServer]:
    """A server that writes these pieces; a number is a pause of so many seconds. The block may last half a minute."""
    served = RawServer(pieces, then)
    listening = await asyncio.start_server(served.respond, "127.0.0.1", 0)
    served.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with asyncio.timeout(30):
        try:
            yield served
        finally:
            listening.close()
            await served.close()
