"""Raw clients of a gateway, its processes over a test's topics, and what each client has to be sent."""

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import msgspec

from tests.support.sse import Block, Lines, Sse
from tests.support.stage import Content, Stage
from tokenmill.dialects import Renderer, find_dialect
from tokenmill.events import decode_event
from tokenmill.servers.gateway import GatewayProcess

ANSWER_S = 60.0
"""For what a client waits: a busy machine takes its time."""


class Answer(NamedTuple):
    """The head of an answer, and a way to read on."""

    status: int
    headers: Mapping[str, str]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    version: str

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The body as it comes, up to its end. Raises `ConnectionError` if the connection ends before the body does."""
        chunked = self.headers.get("transfer-encoding") == "chunked"
        left = 0 if self.status == 204 else int(self.headers.get("content-length", "-1"))
        while left:
            if chunked:
                size = int((await self._line()) or b"x", 16)
                data = (await self._exactly(size + 2))[:size]
                left = -1 if size else 0
            else:
                data = await self.reader.read(65_536 if left < 0 else left)
                left = left if left < 0 else left - len(data)
                if not data:
                    return
            if data:
                yield data

    async def _line(self) -> bytes:
        line = await self.reader.readline()
        if not line.endswith(b"\n"):
            raise ConnectionResetError("the body has no end")
        return line

    async def _exactly(self, size: int) -> bytes:
        try:
            return await self.reader.readexactly(size)
        except asyncio.IncompleteReadError as problem:
            raise ConnectionResetError("the body has no end") from problem

    async def body(self) -> bytes:
        """All of it."""
        async with asyncio.timeout(ANSWER_S):
            return b"".join([chunk async for chunk in self.chunks()])

    async def problem(self) -> dict[str, Any]:
        """The RFC 9457 problem that it is."""
        assert self.headers["content-type"] == "application/problem+json"
        found = msgspec.json.decode(await self.body(), type=dict[str, Any])
        assert found["status"] == self.status
        assert found.keys() >= {"type", "title", "detail"}
        return found


@asynccontextmanager
async def answer(
    port: int,
    path: str,
    headers: Mapping[str, str] | None = None,
    method: str = "GET",
    version: str = "1.1",
    patience: float | None = ANSWER_S,
) -> AsyncIterator[Answer]:
    """What one request over a connection of its own is answered with. Raises `ConnectionError`."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        lines = [
            f"{method} {path} HTTP/{version}",
            "host: 127.0.0.1",
            *(f"{k}: {v}" for k, v in (headers or {}).items()),
        ]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        async with asyncio.timeout(patience):
            yield await _head(reader, writer, version)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def _head(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, version: str) -> Answer:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    except asyncio.IncompleteReadError as problem:
        raise ConnectionResetError("no answer") from problem
    fields = (line.partition(":") for line in head[1:] if line)
    return Answer(
        int(head[0].split()[1]), {name.lower(): value.strip() for name, _, value in fields}, reader, writer, version
    )


def events_path(conversation: str, **query: str) -> str:
    """Of a conversation's events; `from_` is `from`."""
    words = urlencode({name.rstrip("_"): value for name, value in query.items()})
    return f"/v1/conversations/{quote(conversation, safe='')}/events" + (f"?{words}" if words else "")


async def blocks(found: Answer, moved: Callable[[str], None] = lambda _: None) -> AsyncGenerator[Block]:
    """The events of an answer, in whichever form it is; `moved` is told of ids, those without an event included."""
    reader: Sse | Lines = Lines() if "ndjson" in found.headers["content-type"] else Sse()
    async for chunk in found.chunks():
        for block in reader.feed(chunk):
            yield block
        moved(reader.last_id)


async def read_events(
    port: int, conversation: str, headers: Mapping[str, str] | None = None, count: int | None = None, **query: str
) -> list[Block]:
    """The events of a conversation, to the end of the answer, or so many."""
    async with answer(port, events_path(conversation, **query), headers) as found:
        assert found.status == 200, await found.body()
        got: list[Block] = []
        async for block in blocks(found):
            got.append(block)
            if len(got) == count:
                break
        return got


def streams(process: GatewayProcess) -> int:
    """The number of streams that a gateway has open."""
    found = re.findall(r"^tokenmill_gateway_connections(?:\{[^}]*\})? (\S+)$", process.metrics(), flags=re.MULTILINE)
    return int(sum(map(float, found)))


def gateway_of(stage: Stage, folder: Path, stack: contextlib.ExitStack, **gateway: Any) -> GatewayProcess:
    """A gateway over the stage's topics, which is killed with the stack."""
    process = GatewayProcess(folder, {**stage.settings, "gateway": {"flush_ms": 5, **gateway}})
    stack.callback(process.kill)
    return process


def payloads_of(contents: Sequence[Content], key: bytes, dialect: str) -> list[str]:
    """What events on the topic are in a dialect, as text."""
    renderer = Renderer(find_dialect(dialect))
    events = [value for _, other, value, _ in contents if other == key and value]
    made = ([value] if dialect == "native" else renderer.render(decode_event(value)) for value in events)
    return [payload.decode() for each in made for payload in each]
