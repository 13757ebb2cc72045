"""A model server for benchmarks, as cheap as possible: OpenAI's chat completions, a token at each tick.

A token's text is a space and the time at which it was sent, in microseconds since the epoch, so that a reader can tell
how long it was in transit. The first one comes immediately; `max_tokens` is their number. Run as
`python -m tokenmill.bench.model_server PORT TOKENS_A_SECOND`; 0 a second means all at once.
"""

import asyncio
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import uvloop

from tokenmill.errors import FatalError
from tokenmill.servers.process import Server, answer_of

MODEL = "bench"

BACKLOG = 4_096

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"

_CHUNK = (
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"bench",'
    b'"choices":[{"index":0,"delta":%b,"finish_reason":%b}]}\n\n'
)

_ROLE = _CHUNK % (b'{"role":"assistant","content":""}', b"null")

_TOKEN = _CHUNK % (b'{"content":" %d"}', b"null")

_END = _CHUNK % (b"{}", b'"stop"') + b"data: [DONE]\n\n"


class Seen(msgspec.Struct):
    """The requests to a server since it started."""

    generations: int = 0
    running: int = 0
    tokens: int = 0
    closed: dict[str, int] = {}
    """Prompts whose answers were abandoned, and when the connection was closed, in microseconds."""


class _Asked(msgspec.Struct):
    messages: list[dict[str, Any]]
    max_tokens: int

    @property
    def prompt(self) -> str:
        return str(self.messages[-1]["content"])


class _Connection(asyncio.Protocol):
    """One client's connection: requests one after the other."""

    def __init__(self, seen: Seen, rate: float) -> None:
        self._seen = seen
        self._apart_s = 1 / rate if rate else 0.0
        self._came = b""
        self._left = 0
        self._prompt = ""
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._came += data
        head, blank, body = self._came.partition(b"\r\n\r\n")
        found = _LENGTH.search(head)
        if blank and len(body) >= (int(found[1]) if found else 0):
            self._came = b""
            self._answer(head, body)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- of the protocol
        if self._timer is not None and self._left:
            self._timer.cancel()
            self._seen.running -= 1
            self._seen.closed[self._prompt] = now_us()

    def _answer(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"POST "):
            self._begin(msgspec.json.decode(body, type=_Asked))
            return
        said = msgspec.json.encode(self._seen)
        self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(said), said))

    def _begin(self, asked: _Asked) -> None:
        self._prompt, self._left = asked.prompt, asked.max_tokens
        self._seen.generations += 1
        self._seen.running += 1
        self._transport.write(_HEAD + _framed(_ROLE))
        self._due = asyncio.get_running_loop().time()
        self._send()

    def _send(self) -> None:
        """Send the next token, at its time, even if the one before was late."""
        self._seen.tokens += 1
        self._left -= 1
        self._transport.write(_framed(_TOKEN % now_us()))
        if not self._left:
            self._seen.running -= 1
            self._transport.write(_framed(_END) + b"0\r\n\r\n")
            return
        self._due += self._apart_s
        self._timer = asyncio.get_running_loop().call_at(self._due, self._send)


def _framed(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def now_us() -> int:
    """Return the microseconds since the epoch."""
    return time.time_ns() // 1_000


async def _serve(port: int, rate: float) -> None:
    seen = Seen()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(seen, rate), "127.0.0.1", port, backlog=BACKLOG)
    await server.serve_forever()


class ModelServer(Server):
    """The model server as a child process. `rate`: tokens a second of each answer."""

    name = "the benchmark's model server"

    def __init__(self, folder: Path, rate: float) -> None:
        super().__init__(folder)
        self._rate = rate

    @property
    def url(self) -> str:
        """Return the address, without the API's path."""
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str]:
        return [sys.executable, "-m", __name__, str(self.port), str(self._rate)]

    def ready(self) -> bool:
        return answer_of(f"{self.url}/seen") is not None

    def seen(self) -> Seen:
        """Return the requests so far."""
        said = answer_of(f"{self.url}/seen")
        if said is None:
            raise FatalError(f"{self.name} does not answer: {self.log_end()}")
        return msgspec.json.decode(said, type=Seen)


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1]), float(sys.argv[2])))
