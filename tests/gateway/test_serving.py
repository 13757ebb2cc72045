"""From a checked request to a stream, over a log in memory and real connections."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from tests.support.event_log import EventLog, frames_of, of, position_of, spoken
from tests.support.gateway_clients import answer, blocks, events_path, read_events
from tests.support.stage import until
from tokenmill.config import Gateway
from tokenmill.dialects.native import NATIVE
from tokenmill.errors import Unavailable
from tokenmill.gateway.asked import asked
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.deadlines import Deadlines
from tokenmill.gateway.flusher import Flusher
from tokenmill.gateway.hub import Hub
from tokenmill.gateway.origins import Origins
from tokenmill.gateway.server import client_app
from tokenmill.gateway.serving import Serving
from tokenmill.gateway.stream import always
from tokenmill.gateway.window import Window, Windows

TEXT = "Hello, and more of it."


class MemoryTail:
    """The head of a log in memory."""

    partitions = 1

    def __init__(self, log: EventLog, at: int) -> None:
        self.log = log
        self.hub = Hub()
        self.windows = Windows(1 << 30, 1e9)
        self._at = at
        self.windows.open(0, at)
        self.windows.add(0, log.entries(at), log.end, 0)

    def partition_of(self, _key: bytes) -> int:
        return 0

    async def pin(self, _partition: int) -> Window:
        window = self.windows.get(0)
        assert window is not None
        return window

    def unpin(self, _partition: int) -> None:
        """It is always filled."""

    def say(self, chunks: list[Any]) -> None:
        end = self.log.end
        self.log.say(chunks)
        came = self.log.entries(end)
        self.windows.add(0, came, self.log.end, 0)
        self.hub.dispatch(came)


@contextlib.asynccontextmanager
async def served(log: EventLog, at: int | None = None, **settings: Any) -> AsyncIterator[tuple[int, MemoryTail]]:
    """A port, and the head of the log."""
    gateway, tail = (
        Gateway(**{"flush_ms": 1, "lookback_s": 1e9, **settings}),
        MemoryTail(log, log.end if at is None else at),
    )
    flusher = Flusher(gateway.flush_ms / 1000, gateway.heartbeat_s)
    serving = Serving(gateway, tail, log, tail.hub, flusher)  # type: ignore[arg-type] # they read like the real ones

    async def events(request: web.Request) -> web.StreamResponse:
        wanted = asked(request, request.match_info["name"])
        async with serving.begun(wanted) as begun:
            return await serving.answer(request, wanted, {"x-more": "yes"}, always, begun)

    routes = [web.get("/v1/conversations/{name}/events", events)]
    runner = web.AppRunner(
        client_app(routes, Counts(), Origins(gateway), Deadlines(), 1_000), handler_cancellation=True, access_log=None
    )
    await runner.setup()
    writing = asyncio.create_task(flusher.run())
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner.addresses[0][1], tail
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        await runner.cleanup()


async def test_the_past_and_what_comes_are_one_stream() -> None:
    """With the headers of the framing and of the route; it ends at the finish if that was asked for."""
    said = of("c", spoken("m", TEXT))
    log = EventLog(said[:3])
    async with served(log) as (port, tail), answer(port, events_path("c", from_="start", until="finish")) as found:
        assert found.status == 200, await found.body()
        assert found.headers["x-more"] == "yes"
        assert found.headers["content-type"].startswith("text/event-stream")
        got = blocks(found)
        first = await anext(got)
        tail.say(said[3:])
        rest = [block async for block in got]
    assert [first.data, *(block.data for block in rest)] == [entry.value.decode() for entry in log.entries()]


async def test_behind_the_end_there_is_nothing() -> None:
    """An EventSource would ask for ever otherwise; who wants to wait for more says so."""
    log = EventLog(of("c", spoken("m", TEXT)))
    last = str(position_of(frames_of(log.entries(), NATIVE)[-1]))
    async with served(log) as (port, _):
        for form in ({"last-event-id": last}, {"last-event-id": last, "accept": "application/x-ndjson"}):
            async with answer(port, events_path("c", until="finish"), form) as found:
                assert (found.status, await found.body()) == (204, b"")
        async with answer(port, events_path("c", from_=last)) as found:
            assert found.status == 200


async def test_a_place_that_is_gone_is_refused_or_told() -> None:
    """Those who say it by their last id can't see a refusal: they are told of the gap and begin at the start."""
    log = EventLog(of("c", spoken("m", TEXT)))
    gone = "0.00000000000000000999.00001~7"
    async with served(log) as (port, _):
        async with answer(port, events_path("c", from_=gone)) as found:
            assert (found.status, (await found.problem())["type"]) == (410, "urn:tokenmill:problem:gone")
        got = await read_events(port, "c", {"last-event-id": gone}, until="finish")
    assert (got[0].event, len(got)) == ("gap", 1 + len(log.records))
    assert [block.data for block in got[1:]] == [entry.value.decode() for entry in log.entries()]


async def test_what_goes_wrong_in_the_middle_is_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a second answer written into the first: the connection is reset, and the client comes back."""
    log = EventLog(of("c", spoken("m", TEXT)))
    reads = 0

    async def fail(_partition: int, start: int, key: bytes, *more: Any) -> Any:
        nonlocal reads
        reads += 1
        if reads > 1:
            raise Unavailable("Kafka: read the past: no answer within 15 s")
        return await EventLog.read(log, 0, start, key, *more)

    monkeypatch.setattr(log, "read", fail)
    async with served(log) as (port, _):
        for version in ("1.0", "1.1"):
            reads = 0
            async with answer(port, events_path("c", from_="start"), version=version) as found:
                assert found.status == 200
                got = bytearray()
                with pytest.raises(ConnectionError):
                    await into(got, found.chunks())
            assert b"HTTP/1" not in got


async def into(got: bytearray, chunks: AsyncIterator[bytes]) -> None:
    async for chunk in chunks:
        got += chunk


async def test_a_reader_that_is_lost_is_told_to_come_back() -> None:
    """With the time after which, drawn so that not all come at once; its answer has no end."""
    got = bytearray()
    async with served(EventLog()) as (port, tail), answer(port, events_path("c")) as found:
        reading = asyncio.create_task(into(got, found.chunks()))
        await until(lambda: tail.hub.clients(0), "it is at the head", 10)
        for client in tail.hub.clients(0):
            client.lose()
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(reading, 10)
    assert b"retry: " in got


async def test_a_client_that_leaves_is_forgotten() -> None:
    """At once, not when something is written to it."""
    async with served(EventLog()) as (port, tail):
        async with answer(port, events_path("c")):
            await until(lambda: tail.hub.clients(0), "it is at the head", 10)
        await until(lambda: not tail.hub.clients(0), "it is forgotten", 10)
