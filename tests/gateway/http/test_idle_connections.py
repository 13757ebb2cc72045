"""Connections that ask for nothing are closed; those that are answered, and those between two requests, are not."""

import asyncio
import contextlib
import resource
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from tests.support.clock import Clock
from tests.support.stage import until
from tokenmill.gateway.http import idle_connections
from tokenmill.gateway.http.idle_connections import HEAD_S, KEEP_S, IdleConnections

GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


class Conn:
    closed = False

    def __init__(self, transport: asyncio.Transport | None = None) -> None:
        self.transport = transport

    def force_close(self) -> None:
        self.closed, self.transport = True, None


class Stuck(asyncio.Transport):
    """Of a client that takes nothing: a close in order waits for ever."""

    aborted = False

    def abort(self) -> None:
        self.aborted = True


def test_a_head_has_its_time_from_when_the_connection_is_open() -> None:
    """Bytes that trickle in make it no longer."""
    clock, connection = Clock(100.0), Conn()
    watch = IdleConnections(clock)
    assert watch.look([connection]) == 0
    clock.now += HEAD_S
    assert watch.look([connection]) == 0
    clock.now += 1
    assert (watch.look([connection]), connection.closed) == (1, True)


def test_who_takes_nothing_is_cut_off() -> None:
    """A connection that a close in order did not end by the next look."""
    clock, transport = Clock(100.0), Stuck()
    connection = Conn(transport)
    watch = IdleConnections(clock)
    watch.look([connection])
    clock.now += HEAD_S + 1
    assert (watch.look([connection]), transport.aborted) == (1, False)
    assert (watch.look([connection]), transport.aborted) == (1, True)


def test_a_request_takes_as_long_as_it_takes() -> None:
    """A stream is open for hours; behind it the connection may be used again for a while."""
    clock, connection = Clock(100.0), Conn()
    watch = IdleConnections(clock)
    watch.look([connection])
    watch.begins(connection)
    clock.now += 10_000
    assert watch.look([connection]) == 0
    watch.ends(connection)
    clock.now += KEEP_S
    assert watch.look([connection]) == 0
    clock.now += 1
    assert watch.look([connection]) == 1


def test_what_is_closed_is_forgotten() -> None:
    """Nothing grows with the number of connections that ever were."""
    watch = IdleConnections(Clock(100.0))
    connections = [Conn() for _ in range(9)]
    for connection in connections:
        watch.begins(connection)
        watch.ends(connection)
    watch.look(connections)
    watch.look([])
    assert (watch._since, watch._answered, watch._busy) == ({}, set(), set())


@contextlib.asynccontextmanager
async def served() -> AsyncIterator[int]:
    """A server whose answers take a second, watched; its port."""

    async def answer(_: web.Request) -> web.Response:
        await asyncio.sleep(1)
        return web.Response(text="here")

    watch = IdleConnections()
    app = web.Application(middlewares=[watch.middleware()])
    app.router.add_get("/", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    assert runner.server is not None
    task = asyncio.create_task(watch.run(runner.server))
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield runner.addresses[0][1]
    finally:
        task.cancel()
        await runner.cleanup()


async def test_a_client_that_trickles_is_closed_and_one_that_waits_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """On real connections."""
    for name, seconds in (("HEAD_S", 0.3), ("KEEP_S", 1.5), ("LOOK_S", 0.05)):
        monkeypatch.setattr(idle_connections, name, seconds)
    async with served() as port, asyncio.timeout(20):
        (quiet, dumb), (loris, drip), (good, out) = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        out.write(GET)
        drip.write(GET[:-3])
        assert await quiet.read() == b""
        with contextlib.suppress(ConnectionError):
            assert await loris.read() == b""
        assert (await good.readuntil(b"here")).startswith(b"HTTP/1.1 200")
        out.write(GET)
        assert (await good.readuntil(b"here")).startswith(b"HTTP/1.1 200")
        assert await good.read() == b""  # it asked for nothing more
        for writer in (dumb, drip, out):
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


async def test_a_process_that_can_open_no_file_logs_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its event loop closes new connections unread, and nothing else tells why."""
    monkeypatch.setattr(idle_connections, "LOOK_S", 0.01)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with served():
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            await until(lambda: "new connections are closed unread" in caplog.text, "the log has it")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
