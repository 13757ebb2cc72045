"""An answer that never ends, written to its transport: what real connections see of it."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web

from tokenmill.gateway.streams.http_pipe import SEND_BUFFER, HttpPipe, sent_whole

CLOSE = "connection: close\r\n"

Use = Callable[[HttpPipe], Awaitable[None]]


@contextlib.asynccontextmanager
async def asked(
    use: Use, version: str = "1.1", send_s: float = 5, headers: str = ""
) -> AsyncIterator[asyncio.StreamReader]:
    """The answer to a request that is answered by `use`."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await use(await HttpPipe.opened(request, response, send_s))
        return response

    async with answered(answer, version, headers) as reader:
        yield reader


@contextlib.asynccontextmanager
async def answered(
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]], version: str = "1.1", headers: str = ""
) -> AsyncIterator[asyncio.StreamReader]:
    """What this handler answers."""
    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    sock.settimeout(0)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", runner.addresses[0][1]))
    reader, writer = await asyncio.open_connection(sock=sock, limit=1_024)
    try:
        writer.write(f"GET / HTTP/{version}\r\nhost: x\r\n{headers}\r\n".encode())
        async with asyncio.timeout(30):
            yield reader
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        await runner.cleanup()


async def read_all(reader: asyncio.StreamReader) -> None:
    while await reader.read(1_000):
        pass


async def _both_ways(pipe: HttpPipe) -> None:
    await pipe.send(b"waited\n")
    pipe.write(b"at once\n")
    await pipe.send(b"")
    await pipe.finish()


async def test_what_is_written_at_once_is_framed_as_the_rest_is() -> None:
    """In chunks, with their end."""
    async with asked(_both_ways) as reader:
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"transfer-encoding: chunked" in head.lower()
        assert await reader.readuntil(b"0\r\n\r\n") == b"7\r\nwaited\n\r\n8\r\nat once\n\r\n0\r\n\r\n"


@pytest.mark.parametrize("headers", ["", "connection: keep-alive\r\n"])
async def test_a_client_of_http_1_0_gets_no_chunks(headers: str) -> None:
    """The end of the connection is the end of its answer, also where the client would keep it."""
    async with asked(_both_ways, "1.0", headers=headers) as reader:
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        assert b"chunked" not in head.lower()
        assert body == b"waited\nat once\n"


@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_a_reset_looks_like_no_end(version: str) -> None:
    """Not even to a client whose answers end with their connections."""

    async def cut(pipe: HttpPipe) -> None:
        await pipe.send(b"half")
        await asyncio.sleep(0.05)
        pipe.reset()
        pipe.reset()
        pipe.write(b"nothing more")

    async with asked(cut, version) as reader:
        with pytest.raises(ConnectionResetError):
            await read_all(reader)


async def test_a_client_that_takes_nothing_is_told_by_what_is_buffered() -> None:
    """The kernel hides little; whoever waits for it waits for so long, and no longer."""
    said = asyncio.get_running_loop().create_future()

    async def flood(pipe: HttpPipe) -> None:
        try:
            for _ in range(1_000):
                await pipe.send(b"x" * 10_000)
        except TimeoutError:
            said.set_result(pipe.buffered)
            pipe.reset()

    async with asked(flood, send_s=0.3):
        assert 0 < await said < 10 * SEND_BUFFER


async def test_sending_nothing_waits_for_what_was_written_at_once() -> None:
    """Or a client that never took the end of its answer would count as one that has it."""
    said = asyncio.get_running_loop().create_future()

    async def flood(pipe: HttpPipe) -> None:
        pipe.write(b"x" * 40 * SEND_BUFFER)
        try:
            await pipe.send(b"")
        except TimeoutError:
            said.set_result(pipe.buffered)
            pipe.reset()

    async with asked(flood, send_s=0.3):
        assert await said > 0


async def test_writing_nothing_at_once_is_no_end() -> None:
    """A chunk without bytes would be one."""

    async def write(pipe: HttpPipe) -> None:
        for piece in (b"one\n", b"", b"two\n"):
            pipe.write(piece)
        await pipe.finish()

    async with asked(write) as reader:
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readuntil(b"0\r\n\r\n") == b"4\r\none\n\r\n4\r\ntwo\n\r\n0\r\n\r\n"


SLOWLY = 20 * SEND_BUFFER
"""Much more than a kernel holds, and than what is taken within one deadline."""


async def taken_slowly(reader: asyncio.StreamReader, send_s: float) -> bytes:
    """What came to a client that takes some of it again and again, and all of it in several deadlines."""
    began, taken, pause = asyncio.get_running_loop().time(), b"", SEND_BUFFER
    while piece := await reader.read(SEND_BUFFER):
        taken += piece
        if len(taken) > pause:
            pause += SEND_BUFFER
            await asyncio.sleep(send_s / 5)
    assert asyncio.get_running_loop().time() - began > 2 * send_s
    return taken


async def test_who_takes_much_slowly_gets_all_of_it() -> None:
    """Each piece has its time, or a thin line would never get on."""

    async def much(pipe: HttpPipe) -> None:
        await pipe.send(b"x" * SLOWLY)
        await pipe.finish()

    async with asked(much, send_s=0.5, headers=CLOSE) as reader:
        assert (await taken_slowly(reader, 0.5)).endswith(b"x\r\n0\r\n\r\n")


async def test_who_takes_a_whole_answer_slowly_gets_all_of_it() -> None:
    """The same for one that is made before it is sent, with its length."""

    async def whole(request: web.Request) -> web.StreamResponse:
        return await sent_whole(request, web.Response(body=b"x" * SLOWLY), 0.5)

    async with answered(whole, headers=CLOSE) as reader:
        head = await reader.readuntil(b"\r\n\r\n")
        assert f"content-length: {SLOWLY}".encode() in head.lower()
        assert len(await taken_slowly(reader, 0.5)) == SLOWLY


async def test_a_whole_answer_without_a_body_ends_with_its_head() -> None:
    """A client that has what it asks for is sent nothing."""

    async def nothing(request: web.Request) -> web.StreamResponse:
        return await sent_whole(request, web.Response(status=304), 5)

    async with answered(nothing, headers=CLOSE) as reader:
        assert (await reader.read()).endswith(b"\r\n\r\n")
