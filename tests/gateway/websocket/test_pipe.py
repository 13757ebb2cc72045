"""The connection of a WebSocket: `gateway/websocket/pipe.py`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web

from tests.support.serving_app import serving_app
from tests.support.sockets import HANDSHAKE
from tokenmill.gateway.streams.http_pipe import SEND_BUFFER
from tokenmill.gateway.websocket.pipe import WebSocketPipe
from tokenmill.gateway.websocket.server_frames import text

SEND_S = 0.3
"""Seconds in which a client has to take a piece."""

Use = Callable[[WebSocketPipe], Awaitable[None]]


class Server:
    """Hands the pipe of each WebSocket to a function of the test."""

    use: Use

    def __init__(self, port: int) -> None:
        self.port = port
        self.done = asyncio.Event()

    async def client(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A client behind its handshake."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(HANDSHAKE)
        await reader.readuntil(b"\r\n\r\n")
        return reader, writer


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """One that listens."""

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.WebSocketResponse()
        await response.prepare(request)
        await made.use(WebSocketPipe(request, SEND_S))
        made.done.set()
        return response

    app = web.Application()
    app.router.add_get("/{path:.*}", handle)
    async with serving_app(app, shutdown_timeout=0.1) as port:
        made = Server(port)
        yield made


async def test_frames_arrive_in_order(server: Server) -> None:
    """Whether somebody waits for the client or not."""

    async def use(pipe: WebSocketPipe) -> None:
        await pipe.send(text(b"a"))
        pipe.write(text(b"b") + text(b"c"))
        await pipe.send(text(b"d"))
        assert pipe.buffered == 0

    server.use = use
    reader, writer = await server.client()
    async with asyncio.timeout(20):
        await server.done.wait()
    assert await reader.readexactly(12) == b"".join(text(each) for each in (b"a", b"b", b"c", b"d"))
    writer.close()


async def test_those_who_wait_for_the_client_take_turns(server: Server) -> None:
    """One piece waits at a time, however many conversations are read; it is not what another one is behind with."""
    pieces = [text(bytes([letter]) * 4_000_000) for letter in b"ab"]
    sent, reads = asyncio.Event(), asyncio.Event()

    async def use(pipe: WebSocketPipe) -> None:
        sending = asyncio.gather(*map(pipe.send, pieces))
        await asyncio.sleep(0)
        pipe.write(text(b"c"))
        assert pipe.buffered == 0
        assert 0 < pipe._transport.get_write_buffer_size() < len(pieces[0])
        sent.set()
        await sending
        await reads.wait()
        assert pipe.buffered == 0

    server.use = use
    reader, writer = await server.client()
    whole = pieces[0] + text(b"c") + pieces[1]
    async with asyncio.timeout(20):
        await sent.wait()
        assert await reader.readexactly(len(whole)) == whole
        reads.set()
        await server.done.wait()
    writer.close()


async def test_one_that_no_longer_waits_makes_no_other_slow(server: Server) -> None:
    """What it wrote is still on its way, and bounded; what others write behind it counts as theirs."""
    piece = text(b"a" * 4_000_000)

    async def use(pipe: WebSocketPipe) -> None:
        sending = asyncio.create_task(pipe.send(piece))
        await asyncio.sleep(0)
        sending.cancel()
        await asyncio.wait([sending])
        assert (pipe.buffered, pipe._transport.get_write_buffer_size() > 65_536) == (0, True)
        pipe.write(text(b"b" * 1_000))
        assert pipe.buffered == len(text(b"b" * 1_000))

    server.use = use
    _, writer = await server.client()
    async with asyncio.timeout(20):
        await server.done.wait()
    writer.close()


async def test_one_that_no_longer_waits_takes_no_other_with_it(server: Server) -> None:
    """Whoever waits next waits for the client as before, and is not cancelled too."""
    piece, turn = text(b"a" * 4_000_000), asyncio.Event()

    async def use(pipe: WebSocketPipe) -> None:
        sending = asyncio.create_task(pipe.send(piece))
        await asyncio.sleep(0)
        sending.cancel()
        await asyncio.wait([sending])
        next_one = asyncio.create_task(pipe.send(text(b"b")))
        await asyncio.sleep(0)
        turn.set()
        await asyncio.wait([next_one])
        assert (next_one.cancelled(), next_one.exception()) == (False, None)

    server.use = use
    reader, writer = await server.client()
    async with asyncio.timeout(20):
        await turn.wait()
        assert await reader.readexactly(len(piece) + 3) == piece + text(b"b")
        await server.done.wait()
    writer.close()


async def test_who_takes_a_large_frame_slowly_gets_all_of_it(server: Server) -> None:
    """Each piece of it has its time, as over HTTP; other frames may not come into its midst."""
    frame = text(b"x" * 20 * SEND_BUFFER)
    server.use = lambda pipe: pipe.send(frame)
    reader, writer = await server.client()
    began, taken = asyncio.get_running_loop().time(), b""
    async with asyncio.timeout(20):
        while len(taken) < len(frame):
            taken += await reader.readexactly(min(SEND_BUFFER, len(frame) - len(taken)))
            await asyncio.sleep(SEND_S / 5)
        await server.done.wait()
    assert taken == frame
    assert asyncio.get_running_loop().time() - began > 2 * SEND_S
    writer.close()


async def _flood(pipe: WebSocketPipe) -> None:
    while True:
        await pipe.send(text(b"x" * 65_536))


async def test_a_client_that_takes_nothing_is_not_waited_for(server: Server) -> None:
    """Longer than the pipe was told; what it did not take is known, and can be thrown away."""

    async def use(pipe: WebSocketPipe) -> None:
        with pytest.raises(TimeoutError):
            await _flood(pipe)
        assert pipe._transport.get_write_buffer_size() > 65_536
        pipe.reset()
        pipe.write(text(b"nobody reads it"))
        with pytest.raises(ConnectionError):
            await pipe.send(text(b"nor this"))

    server.use = use
    _, writer = await server.client()
    async with asyncio.timeout(20):
        await server.done.wait()
    writer.close()
