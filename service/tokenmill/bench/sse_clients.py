"""Thousands of readers of server-sent events in one process, too cheap to affect what is measured.

Run as `python -m tokenmill.bench.sse_clients`, with the job as a line of JSON on standard input. It reports on standard
output when all are connected, and, when another line asks for them, the results. A stream is only counted, not parsed.
"""

import asyncio
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self, cast

import msgspec

from tokenmill.bench.client_process import ClientProcess, do
from tokenmill.bench.clock import p50_p99

CONNECTED = "connected"

CONNECT_S = 60.0
"""Seconds for all to be connected: ten thousand take some seconds."""

AT_ONCE = 200
"""Connections that are made at the same time: fewer than a backlog holds."""

_TIME = re.compile(rb'"time":(\d+)')


class Job(msgspec.Struct, frozen=True):
    """The server to read, and how often."""

    port: int
    paths: list[str]
    """Paths, one connection for each."""
    reads: bool = True
    """Whether to read after the first bytes of an answer."""


class Got(msgspec.Struct, frozen=True):
    """What all clients received."""

    frames: int
    cut: int
    """Connections that ended."""
    p50_ms: float
    """Milliseconds from the time in the last frame of a read until it arrived."""
    p99_ms: float


class _Reader(asyncio.Protocol):
    def __init__(self, path: str, job: Job, ages: list[float]) -> None:
        self._reads = job.reads
        self._head = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{job.port}\r\naccept: text/event-stream\r\n\r\n".encode()
        self._ages = ages
        self.frames = 0
        self.answered = asyncio.get_running_loop().create_future()
        self.cut = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._head)

    def data_received(self, data: bytes) -> None:
        if not self.answered.done():
            self.answered.set_result(None)
        if not self._reads:
            self._transport.pause_reading()
        self.frames += data.count(b"\ndata: ")
        times = _TIME.findall(data)
        if times:
            self._ages.append(time.time() * 1_000 - int(times[-1]))

    def connection_lost(self, exc: Exception | None) -> None:
        self.cut = True
        if not self.answered.done():
            self.answered.set_exception(exc or ConnectionResetError("closed"))


async def read(job: Job) -> Got:
    """Connect, read until a line comes on standard input, and report."""
    loop, ages, readers = asyncio.get_running_loop(), list[float](), list[_Reader]()
    for start in range(0, len(job.paths), AT_ONCE):
        made = [_Reader(path, job, ages) for path in job.paths[start : start + AT_ONCE]]
        async with asyncio.timeout(CONNECT_S):
            await asyncio.gather(*(loop.create_connection(_just(each), "127.0.0.1", job.port) for each in made))
            await asyncio.gather(*(each.answered for each in made))
        readers += made
    print(CONNECTED, flush=True)
    await loop.run_in_executor(None, sys.stdin.readline)
    frames, cut = sum(each.frames for each in readers), sum(each.cut for each in readers)
    return Got(frames, cut, *(p50_p99(ages) if len(ages) > 1 else (0.0, 0.0)))


def _just(reader: _Reader) -> Callable[[], _Reader]:
    return lambda: reader


class Clients(ClientProcess):
    """The process, from outside: clients are connected inside the block."""

    def __init__(self, folder: Path, job: Job) -> None:
        super().__init__(__name__, folder / "clients.log", job)

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self.expect(CONNECTED, "the clients do not get connected")
        except BaseException:
            self.__exit__()
            raise
        return self

    def got(self) -> Got:
        """Return what the clients received so far, and end them. Raises `FatalError` if they failed."""
        self.tell()
        return self.results(Got)


if __name__ == "__main__":
    do(Job, read)
