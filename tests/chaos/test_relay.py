"""What a relay passes on comes in order, late or not at all."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.relay import Relay
from tokenmill.servers.process import free_port

SOON_S = 10.0


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1_000):
        writer.write(data)
    writer.close()


@asynccontextmanager
async def _relayed() -> AsyncIterator[tuple[Relay, int]]:
    """A relay before a server that says everything again, and its port."""
    server = await asyncio.start_server(_echo, "127.0.0.1", 0)
    async with asyncio.timeout(SOON_S), server, Relay(server.sockets[0].getsockname()[1]) as relay:
        yield relay, relay.port


async def test_what_is_held_back_comes_later_and_in_order() -> None:
    """In both directions; what was under way before a change is not overtaken."""
    async with _relayed() as (relay, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"a")
        assert await reader.readexactly(1) == b"a"
        relay.delay_s, began = 0.1, time.monotonic()
        writer.write(b"b")
        assert await reader.readexactly(1) == b"b"
        assert time.monotonic() - began >= 2 * relay.delay_s
        writer.close()
        assert await reader.read() == b""


async def test_a_reset_is_one() -> None:
    """Both ends hear of it as an error; who comes again gets through."""
    async with _relayed() as (relay, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"a")
        assert await reader.readexactly(1) == b"a"
        relay.reset()
        with pytest.raises(ConnectionResetError):
            await reader.read()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"b")
        assert await reader.readexactly(1) == b"b"
        writer.close()


async def test_a_deaf_one_answers_nobody() -> None:
    """Who wants to connect waits, and who is connected hears of nothing; afterwards all is as before."""
    async with _relayed() as (relay, port):
        old_reader, old_writer = await asyncio.open_connection("127.0.0.1", port)
        async with relay.deaf():
            connecting = asyncio.create_task(asyncio.open_connection("127.0.0.1", port))
            await asyncio.wait([connecting], timeout=0.5)
            assert not connecting.done()
        reader, writer = await connecting  # the kernel asks again
        for ours, theirs in ((reader, writer), (old_reader, old_writer)):
            theirs.write(b"a")
            assert await ours.readexactly(1) == b"a"
            theirs.close()


async def test_nobody_waits_for_a_server_that_is_away() -> None:
    """A connection ends at once."""
    async with asyncio.timeout(SOON_S), Relay(free_port()) as relay:
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        assert await reader.read() == b""
        writer.close()
