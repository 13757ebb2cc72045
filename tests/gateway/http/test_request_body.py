"""Bodies are read as they come, with deadlines; what is cut off is told from what ended."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import ClientSession, web

from tests.support.serving_app import serving_app
from tokenmill.gateway.http import request_body
from tokenmill.gateway.http.request_body import BrokenOff, RequestBody, Stopping, broken_off, decoded, whole_body
from tokenmill.gateway.problems import Refused

Read = Callable[[RequestBody], Awaitable[bytes]]


class Reader:
    """A server that reads bodies in one way and keeps what became of each."""

    def __init__(self, read: Read, idle_s: float) -> None:
        self._read = read
        self._idle_s = idle_s
        self.port = 0
        self.begun = asyncio.Event()
        self.outcomes: asyncio.Queue[bytes | BaseException] = asyncio.Queue()

    async def handle(self, request: web.Request) -> web.Response:
        self.begun.set()
        try:
            self.outcomes.put_nowait(await self._read(RequestBody(request, self._idle_s)))
        except (Refused, BrokenOff) as problem:
            self.outcomes.put_nowait(problem)
        return web.Response()


@asynccontextmanager
async def reading(read: Read, idle_s: float = 5) -> AsyncIterator[Reader]:
    reader = Reader(read, idle_s)
    app = web.Application()
    app.router.add_post("/", reader.handle)
    async with serving_app(app, shutdown_timeout=0.1) as reader.port:
        yield reader


async def outcome(reader: Reader) -> bytes | BaseException:
    return await asyncio.wait_for(reader.outcomes.get(), 5)


async def posted(reader: Reader, data: bytes | AsyncIterator[bytes], **headers: str) -> bytes | BaseException:
    async with ClientSession() as session, session.post(f"http://127.0.0.1:{reader.port}/", data=data, headers=headers):
        return await outcome(reader)


async def whole(body: RequestBody) -> bytes:
    return await body.whole(10)


async def all_pieces(body: RequestBody) -> bytes:
    pieces = []
    while piece := await body.piece():
        pieces.append(piece)
    return b"|".join(pieces)


async def test_a_whole_body_is_what_was_sent() -> None:
    """Up to the cap, and not a byte over it."""
    async with reading(whole) as reader:
        assert await posted(reader, b"0123456789") == b"0123456789"
        refusal = await posted(reader, b"0123456789x")
    assert isinstance(refusal, Refused)
    assert (refusal.kind.status, "10 bytes" in refusal.detail) == (413, True)


async def test_a_whole_body_that_does_not_say_how_long_it_is_has_the_same_cap() -> None:
    """It is counted as it comes; of one that says so itself, nothing is waited for."""

    async def sent(*pieces: bytes) -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async with reading(whole) as reader:
        assert await posted(reader, sent(b"01234", b"56789")) == b"0123456789"
        for refusal in (await posted(reader, sent(b"01234", b"56789", b"x")), await announced(reader, b"11")):
            assert isinstance(refusal, Refused)
            assert refusal.kind.status == 413


async def announced(reader: Reader, length: bytes) -> bytes | BaseException:
    """What becomes of a body of which nothing is sent but its length."""
    _, writer = await asyncio.open_connection("127.0.0.1", reader.port)
    writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: " + length + b"\r\n\r\n")
    try:
        return await outcome(reader)
    finally:
        writer.close()


async def test_pieces_come_as_soon_as_they_are_there() -> None:
    """A stream is passed on while it is written, and its end is an empty piece."""
    first_read = asyncio.Event()

    async def read(body: RequestBody) -> bytes:
        first = await body.piece()
        first_read.set()
        return first + b"|" + await all_pieces(body)

    async def body() -> AsyncIterator[bytes]:
        yield b"one"
        await first_read.wait()
        yield b"two"

    async with reading(read) as reader:
        assert await posted(reader, body()) == b"one|two"


@pytest.mark.parametrize(("read", "whole_s", "idle_s"), [(whole, 0.05, 60), (whole, 60, 0.05), (all_pieces, 60, 0.05)])
async def test_a_body_that_stalls_is_given_up(
    read: Read, whole_s: float, idle_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a few thousand of them would take all connections (slow-loris). The shorter of two deadlines counts."""
    monkeypatch.setattr(request_body, "WHOLE_S", whole_s)
    async with reading(read, idle_s=idle_s) as reader:
        _, writer = await asyncio.open_connection("127.0.0.1", reader.port)
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n123")
        refusal = await outcome(reader)
        writer.close()
    assert isinstance(refusal, Refused)
    assert refusal.kind.status == 408


async def test_a_body_that_drips_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline of a whole body does not begin anew with each byte."""
    monkeypatch.setattr(request_body, "WHOLE_S", 0.2)
    async with reading(whole) as reader:
        _, writer = await asyncio.open_connection("127.0.0.1", reader.port)
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n")
        waiting = asyncio.create_task(outcome(reader))
        while not waiting.done():
            writer.write(b"1" if reader.outcomes.empty() else b"")
            await asyncio.wait([waiting], timeout=0.05)
        writer.close()
    refusal = await waiting
    assert isinstance(refusal, Refused)
    assert refusal.kind.status == 408


@pytest.mark.parametrize("alone", [False, True])
async def test_a_body_that_may_be_large_has_the_time_that_it_is_given(
    alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one with images, over a slow line."""
    monkeypatch.setattr(request_body, "WHOLE_S", 0.01)

    async def read(body: RequestBody) -> bytes:
        return await (whole_body(body._request, 5) if alone else body.whole(10, 5))

    async with reading(read) as reader:
        _, writer = await asyncio.open_connection("127.0.0.1", reader.port)
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\n12")
        waiting = asyncio.create_task(outcome(reader))
        await asyncio.wait([waiting], timeout=0.1)
        writer.write(b"34")
        assert await waiting == b"1234"
        writer.close()


@pytest.mark.parametrize(
    "framing", [b"content-length: 9\r\n\r\n123", b"transfer-encoding: chunked\r\n\r\n3\r\n123\r\n"]
)
async def test_a_lost_connection_is_no_end_of_a_body(framing: bytes) -> None:
    """What came is not all that was meant."""
    async with reading(all_pieces) as reader:
        _, writer = await asyncio.open_connection("127.0.0.1", reader.port)
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\n" + framing)
        await writer.drain()
        writer.close()
        lost = await outcome(reader)
        assert type(lost) is BrokenOff
        assert broken_off(lost).kind.status == 400


async def test_a_whole_body_whose_connection_is_lost_is_refused() -> None:
    """A handler that does nothing before need not know of it."""

    async def read(body: RequestBody) -> bytes:
        return await whole_body(body._request)

    async with reading(read) as reader:
        _, writer = await asyncio.open_connection("127.0.0.1", reader.port)
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n123")
        await writer.drain()
        writer.close()
        lost = await outcome(reader)
    assert isinstance(lost, Refused)
    assert (lost.kind.status, "connection was lost" in lost.detail) == (400, True)


def test_what_is_wrong_with_json_is_said() -> None:
    """And where."""
    assert decoded(b"[1]", list[int], "the list is wrong") == [1]
    with pytest.raises(Refused, match=r"the list is wrong: .*\$\[0\]") as refusal:
        decoded(b'["x"]', list[int], "the list is wrong")
    assert refusal.value.kind.status == 400


async def test_a_server_that_closes_breaks_bodies_off() -> None:
    """By a cancellation that is none of the reader's task; the client is not said to have gone, and may come again."""
    async with reading(all_pieces) as reader:
        _, writer = await asyncio.open_connection("127.0.0.1", reader.port)
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n123")
        await asyncio.wait_for(reader.begun.wait(), 5)
    problem = await outcome(reader)
    assert isinstance(problem, Stopping)
    writer.close()
    refusal = broken_off(problem)
    assert (refusal.kind.status, refusal.headers) == (503, {"retry-after": "2"})
    assert "this gateway is shutting down" in refusal.detail


async def test_a_reader_that_is_cancelled_is_cancelled() -> None:
    """The same exception, meant for the task."""
    tasks: list[asyncio.Task[bytes]] = []

    async def read(body: RequestBody) -> bytes:
        tasks.append(asyncio.ensure_future(all_pieces(body)))
        await asyncio.sleep(0.01)
        tasks[0].cancel()
        await asyncio.wait(tasks)
        return b"cancelled" if tasks[0].cancelled() else b"not"

    async with reading(read) as reader:
        _, writer = await asyncio.open_connection("127.0.0.1", reader.port)
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n")
        assert await outcome(reader) == b"cancelled"
        writer.close()


async def test_a_body_is_read_for_as_long_as_its_rights_hold() -> None:
    """What comes later is not used."""

    async def read(body: RequestBody) -> bytes:
        body._held = lambda: False
        return await body.piece()

    async with reading(read) as reader:
        refusal = await posted(reader, b"123")
    assert isinstance(refusal, Refused)
    assert (refusal.kind.status, refusal.members) == (401, {"reason": "expired"})


async def test_compressed_bodies_are_not_read() -> None:
    """A kilobyte of them may be a gigabyte."""
    async with reading(whole) as reader:
        refusal = await posted(reader, gzip.compress(b"1"), **{"content-encoding": "gzip"})
    assert isinstance(refusal, Refused)
    assert refusal.kind.status == 415
