"""Clients of chat completions in one process, too cheap to affect what is measured: each asks again and again.

Run as `python -m tokenmill.bench.answer_clients`, with the job as a line of JSON on standard input. It reports on
standard output when the measurement begins, when it is over, and, after the last answers, the results. A client keeps
its connection, as an SDK's pool does; of events it reads only the times that are the tokens' text.
"""

import asyncio
import re
import time
from pathlib import Path
from typing import cast

import msgspec

from tokenmill.bench.client_process import ClientProcess, do
from tokenmill.bench.model_server import MODEL, now_us
from tokenmill.errors import FatalError

PATH = "/v1/chat/completions"

DRAIN_S = 60.0
"""Seconds for answers that have begun to end."""

BEGUN, OVER = "begun", "over"

_SENT = re.compile(rb"(?<!:) (\d{16})")
"""The time at which a token was sent; one event may have several tokens. What follows a colon is a header: one request
id in two thousand has digits alone, and as many."""

_OK = b"HTTP/1.1 200 "

_LAST = b"\n0\r\n\r\n"
"""The end of a chunked body."""


class Job(msgspec.Struct, frozen=True):
    """The server to ask, and how often."""

    port: int
    clients: int
    tokens: int
    """Tokens of each answer."""
    spread_s: float
    """Seconds over which the clients start, one after the other."""
    warm_up_s: float
    measured_s: float


class Got(msgspec.Struct):
    """What all clients received during the measurement."""

    seconds: float = 0
    answers: int = 0
    """Answers that ended."""
    first_ms: list[float] = []
    """Milliseconds from each request to its first token."""
    token_ms: list[float] = []
    """Milliseconds since each received token was sent."""
    asked: int = 0
    """Answers from first to last, including those before and after the measurement."""


class _Tally:
    def __init__(self) -> None:
        self.got = Got()
        self.measuring = False

    def token(self, delay_us: int) -> None:
        if self.measuring:
            self.got.token_ms.append(delay_us / 1_000)

    def first(self, delay_us: int) -> None:
        if self.measuring:
            self.got.first_ms.append(delay_us / 1_000)

    def over(self) -> None:
        self.got.answers += self.measuring


class _Connection(asyncio.Protocol):
    """One client's connection: answers one after the other."""

    def __init__(self, tokens: int, tally: _Tally) -> None:
        self._tokens = tokens
        self._tally = tally
        self._over: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    async def answer(self, request: bytes) -> None:
        """Ask, and wait for the whole answer. Raises `FatalError` if a token is missing."""
        self._rest = self._tail = self._head = b""
        self._count = 0
        self._over = asyncio.get_running_loop().create_future()
        self._asked_us = now_us()
        self._transport.write(request)
        await self._over

    def close(self) -> None:
        """Stop asking."""
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        now = now_us()
        self._head = self._head or data
        lines, _, self._rest = (self._rest + data).rpartition(b"\n")
        self._tail = (self._tail + data)[-len(_LAST) :]
        for sent in sent_times(lines):
            self._came(now, sent)
        if self._tail == _LAST:
            self._end()

    def _came(self, now: int, sent: int) -> None:
        if not self._count:
            self._tally.first(now - self._asked_us)
        self._count += 1
        self._tally.token(now - sent)

    def _end(self) -> None:
        if self._count != self._tokens or not self._head.startswith(_OK):
            self._fail()
        elif self._over is not None and not self._over.done():
            self._tally.over()
            self._over.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- of the protocol
        self._fail()

    def _fail(self) -> None:
        if self._over is not None and not self._over.done():
            self._over.set_exception(FatalError(f"{self._count} of {self._tokens} tokens came: {self._head[:500]!r}"))


def sent_times(lines: bytes) -> list[int]:
    """Return the times of all tokens in lines of a response, in microseconds since the epoch."""
    return [int(sent) for sent in _SENT.findall(lines)]


def request_of(port: int, prompt: str, tokens: int) -> bytes:
    """Return the bytes of a request for an answer."""
    said = {"model": MODEL, "messages": [{"role": "user", "content": prompt}], "stream": True, "max_tokens": tokens}
    body = msgspec.json.encode(said)
    head = f"POST {PATH} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


async def ask(job: Job) -> Got:
    """Ask until the time is over and every answer has ended. Raises `FatalError` if an answer lacks a token."""
    tally, enough = _Tally(), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for number in range(job.clients):
            group.create_task(_client(job, number, tally, enough))
        await asyncio.sleep(job.spread_s + job.warm_up_s)
        print(BEGUN, flush=True)
        tally.measuring, began = True, time.monotonic()
        await asyncio.sleep(job.measured_s)
        tally.measuring, tally.got.seconds = False, time.monotonic() - began
        print(OVER, flush=True)
        enough.set()
    return tally.got


async def _client(job: Job, number: int, tally: _Tally, enough: asyncio.Event) -> None:
    await asyncio.sleep(job.spread_s * number / job.clients)
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(lambda: _Connection(job.tokens, tally), "127.0.0.1", job.port)
    while not enough.is_set():
        tally.got.asked += 1
        request = request_of(job.port, f"client {number}, answer {tally.got.asked}", job.tokens)
        async with asyncio.timeout(DRAIN_S):
            await connection.answer(request)
    connection.close()


class AnswerClients(ClientProcess):
    """The process, from outside: call `begun`, `over` and `got`, in this order."""

    def __init__(self, folder: Path, job: Job) -> None:
        super().__init__(__name__, folder / "answer-clients.log", job)

    def begun(self) -> None:
        """Wait until the measurement begins. Raises `FatalError` if it does not, as do the other methods."""
        self.expect(BEGUN)

    def over(self) -> None:
        """Wait until the measurement is over."""
        self.expect(OVER)

    def got(self) -> Got:
        """Return what the clients received, once every answer has ended."""
        return self.results(Got)


if __name__ == "__main__":
    do(Job, ask)
