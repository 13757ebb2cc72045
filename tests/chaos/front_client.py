"""A client's connection to a front or a gateway, which is cut at a random byte or at a random moment."""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

from tests.support.gateway_clients import Answer
from tests.support.resets import reset_when_closed
from tests.support.sse import Block, Sse


class Cuts:
    """Draws when connections are cut, and counts how often that was."""

    def __init__(self, dice: random.Random, mean_bytes: float, mean_s: float) -> None:
        self._dice = dice
        self._mean_bytes = mean_bytes
        self._mean_s = mean_s
        self.calm = False
        """Nothing is cut any more."""
        self.count = 0

    def drawn(self) -> tuple[float, float]:
        """Bytes and seconds after which one connection is cut; of one of the two there is no end."""
        if self.calm:
            return float("inf"), float("inf")
        if self._dice.random() < 0.6:
            return self._dice.expovariate(1 / self._mean_bytes), float("inf")
        return float("inf"), self._dice.expovariate(1 / self._mean_s)

    def cut(self, writer: asyncio.StreamWriter) -> ConnectionResetError:
        """Cut it: by a reset, or by an end."""
        self.count += 1
        if self._dice.random() < 0.5:
            reset_when_closed(writer.get_extra_info("socket"))
            writer.transport.abort()
        writer.close()
        return ConnectionResetError("cut")


class Connection:
    """One request, and what it was answered as far as that was read."""

    def __init__(self, answer: Answer, cuts: Cuts, left: float) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self._answer = answer
        self._cuts = cuts
        self._left = left

    async def body(self) -> bytes:
        """All of it. Raises `ConnectionError`."""
        return b"".join([data async for data in self._data()])

    async def blocks(self) -> AsyncGenerator[Block]:
        """Its events. Raises `ConnectionError`."""
        reader = Sse()
        async for data in self._data():
            for block in reader.feed(data):
                yield block

    async def _data(self) -> AsyncGenerator[bytes]:
        async for data in self._answer.chunks():
            if len(data) > self._left:
                yield data[: int(self._left)]
                raise self._cuts.cut(self._answer.writer)
            self._left -= len(data)
            yield data


@asynccontextmanager
async def connection(
    port: int, cuts: Cuts, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
) -> AsyncIterator[Connection]:
    """A request over a connection of its own. Raises `ConnectionError`, also inside of the block."""
    left, seconds = cuts.drawn()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(None if seconds == float("inf") else seconds) as limit:
            fields = {"host": "127.0.0.1", "content-length": str(len(body)), **headers}
            head = "\r\n".join([f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())])
            writer.write(head.encode() + b"\r\n\r\n" + body)
            yield Connection(await _answered(reader, writer), cuts, left)
    except TimeoutError as late:
        if not limit.expired():
            raise
        raise cuts.cut(writer) from late
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Answer:
    try:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    except asyncio.IncompleteReadError as problem:
        raise ConnectionResetError("no answer") from problem
    fields = (line.partition(":") for line in lines[1:] if line)
    headers = {name.lower(): value.strip() for name, _, value in fields}
    return Answer(int(lines[0].split()[1]), headers, reader, writer, "1.1")
