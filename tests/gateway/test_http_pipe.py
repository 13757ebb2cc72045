"""An answer that never ends, written to its transport: what real connections see of it."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web

from tokenmill.gateway.http_pipe import SEND_BUFFER, HttpPipe

Use = Callable[[HttpPipe], Awaitable[None]]


@contextlib.asynccontextmanager
async def asked(use: Use, version: str = "1.1", send_s: float = 5) -> AsyncIterator[asyncio.StreamReader]:
    """The answer to a request that is answered by `use`."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await use(await HttpPipe.opened(request, response, send_s))
        return response

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
        writer.write(f"GET / HTTP/{version}\r\nhost: x\r\n\r\n".encode())
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


async def test_a_client_of_http_1_0_gets_no_chunks() -> None:
    """The end of the connection is the end of its answer."""
    async with asked(_both_ways, "1.0") as reader:
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
