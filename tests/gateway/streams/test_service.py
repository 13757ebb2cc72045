"""From a checked request to a stream, over a log in memory and real connections."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from typing import Any

import msgspec
import pytest
from aiohttp import web

from tests.support.event_log import EventLog, frames_of, of, position_of, spoken
from tests.support.gateway_clients import answer, blocks, events_path, read_events
from tests.support.gateways import Gate, listening
from tests.support.gateways import answer as said
from tests.support.readings import others
from tests.support.stage import until
from tokenmill.config import Gateway
from tokenmill.dialects.native import NATIVE
from tokenmill.errors import Unavailable
from tokenmill.gateway.auth.grant import always
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.event_log.position import Position, read_position
from tokenmill.gateway.event_log.tail import AWAY_S
from tokenmill.gateway.event_log.window import Window, Windows
from tokenmill.gateway.http.app import client_app
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.gateway.http.origins import Origins
from tokenmill.gateway.streams import service
from tokenmill.gateway.streams.flusher import Flusher
from tokenmill.gateway.streams.framing import SSE
from tokenmill.gateway.streams.hub import Client, Hub
from tokenmill.gateway.streams.service import PreparedReading, StreamService
from tokenmill.gateway.streams.stream_request import StreamRequest, read_request

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

    async def has(self, partition: int) -> bool:
        return partition < self.partitions

    async def pin(self, _partition: int) -> Window:
        window = self.windows.get(0)
        assert window is not None
        return window

    def unpin(self, _partition: int) -> None:
        """It is always filled."""

    def say(self, chunks: list[Any]) -> None:
        end = self.log.end
        self.log.say(chunks)
        self.poll(end)

    def poll(self, start: int) -> None:
        came = self.log.entries(start)
        self.windows.add(0, came, self.log.end, 0)
        self.hub.dispatch(came)


class Grown(MemoryTail):
    """Of a topic that had one partition: the conversation goes on on the second one. Reads like `LogReaders`, too."""

    partitions = 2
    home = 1

    def __init__(self, old: EventLog, new: EventLog) -> None:
        super().__init__(old, old.end)
        self.logs = old, new
        self.windows.open(1, new.end)

    def partition_of(self, _key: bytes) -> int:
        return self.home

    async def pin(self, partition: int) -> Window:
        window = self.windows.get(partition)
        assert window is not None
        return window

    def of(self, _name: str) -> "Grown":
        return self

    async def read(self, partition: int, *more: Any) -> Any:
        return await self.logs[partition].read(partition, *more)

    async def bounds(self, partition: int) -> tuple[int, int]:
        return await self.logs[partition].bounds(partition)

    async def since(self, partition: int, time_ms: int) -> int | None:
        return await self.logs[partition].since(partition, time_ms)

    async def time_before(self, partition: int, offset: int) -> int:
        return await self.logs[partition].time_before(partition, offset)


@contextlib.asynccontextmanager
async def served(
    log: EventLog | Grown, at: int | None = None, **settings: Any
) -> AsyncIterator[tuple[int, MemoryTail]]:
    """A port, and the head of the log."""
    gateway = Gateway(**{"flush_ms": 1, "lookback_s": 1e9, **settings})
    tail = log if isinstance(log, Grown) else MemoryTail(log, log.end if at is None else at)
    flusher = Flusher(gateway.flush_ms / 1000, gateway.heartbeat_s)
    serving = StreamService(gateway, tail, log, tail.hub, flusher)  # type: ignore[arg-type] # they read like the real ones

    async def events(request: web.Request) -> web.StreamResponse:
        wanted = read_request(request, request.match_info["name"])
        async with serving.prepared(wanted) as prepared:
            return await serving.answer(request, wanted, {"x-more": "yes"}, always, prepared)

    routes = [web.get("/v1/conversations/{name}/events", events)]
    runner = web.AppRunner(
        client_app(routes, Counts(), Origins(gateway), IdleConnections(), 1_000),
        handler_cancellation=True,
        access_log=None,
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


@pytest.mark.parametrize("first", ["now", "start"])
async def test_who_joins_from_the_log_takes_nothing_from_the_others(first: str) -> None:
    """The log is ahead of the tail, and the one that comes from the start reads it: both get what the tail polls."""
    said = of("c", spoken("m", TEXT))
    log = EventLog([*of("c", spoken("old", "Old.")), *said[:1]])
    async with served(log) as (port, tail), AsyncExitStack() as stack:
        end, got = log.end, dict[str, list[str]]()
        log.say(said[1:3])
        for number, start in enumerate([first, "now" if first == "start" else "start"], 1):
            found = await stack.enter_async_context(answer(port, events_path("c", from_=start)))
            stack.enter_context(following(blocks(found), got.setdefault(start, [])))
            await until(lambda: len(tail.hub.clients(0)) == number, "it is at the head", 10)  # noqa: B023 -- it is waited for here
        tail.poll(end)
        tail.say(said[3:])
        whole = [entry.value.decode() for entry in log.entries()]
        await until(lambda: all(each[-1:] == whole[-1:] for each in got.values()), "both have the end", 10)
    assert got == {"start": whole, "now": [entry.value.decode() for entry in log.entries(end)]}


@contextlib.contextmanager
def following(came: AsyncIterator[Any], got: list[str]) -> Iterator[None]:
    """Inside, what comes is added to what there is."""

    async def follow() -> None:
        async for block in came:
            got.append(block.data)  # noqa: PERF401 -- what came so far counts

    task = asyncio.create_task(follow())
    try:
        yield
    finally:
        task.cancel()


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


async def sent(port: int, last: str, **query: str) -> tuple[int, list[str], str]:
    """What one that comes back with an id is sent until it is cut off, and the id with which it comes back again."""
    ids, got = [last], list[str]()
    async with answer(port, events_path("c", **query), {"last-event-id": last}) as found:
        if found.status == 200:
            with contextlib.suppress(ConnectionError):
                async with asyncio.timeout(30):
                    got += [block.data async for block in blocks(found, ids.append)]
    return found.status, got, ids[-1]


async def test_behind_the_end_a_long_look_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes longer than headers can wait, so the answer is an id that is further on; with that comes the 204."""
    monkeypatch.setattr(service, "PEEK_S", -1)
    log = EventLog([*of("c", spoken("m", TEXT)), *others(300)])
    first = last = str(position_of(frames_of(log.entries(), NATIVE)[-1]))
    async with served(log) as (port, _):
        seen = []
        for _ in range(2):
            status, got, last = await sent(port, last, until="finish")
            seen.append((status, got))
        assert seen == [(200, []), (200, [])]
        assert last > first
        monkeypatch.setattr(service, "PEEK_S", 60)
        assert await sent(port, last, until="finish") == (204, [], last)
        log.say(of("c", spoken("n", "More.")))
    async with served(log) as (port, _):
        assert len((await sent(port, last, until="finish"))[1]) == len(log.entries(read_position(last).offset))


@pytest.mark.parametrize("peek_s", [60, -1], ids=["seen at once", "seen late"])
async def test_an_id_of_before_the_topic_grew_leads_to_all_that_came_since(
    monkeypatch: pytest.MonkeyPatch, peek_s: float
) -> None:
    """However long ago: nobody looks back from now on, but from the time on at which the client was."""
    monkeypatch.setattr(service, "PEEK_S", peek_s)
    old, new = EventLog([*of("c", spoken("one", TEXT)), *others(30)]), EventLog(of("c", spoken("two", TEXT)))
    last = str(position_of(frames_of(old.entries(), NATIVE)[-1]))
    async with served(Grown(old, new), lookback_s=1) as (port, _):
        for _ in range(2 if peek_s < 0 else 1):  # the first time it hears only where to go on
            status, got, last = await sent(port, last, until="finish")
        assert (status, got) == (200, [entry.value.decode() for entry in new.entries()])
        assert last.startswith("1.")


async def test_behind_the_end_on_an_old_partition_there_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on any other, once it is led to where the conversation would go on."""
    monkeypatch.setattr(service, "PEEK_S", -1)
    old = EventLog([*of("c", spoken("one", TEXT)), *others(30)])
    last = str(position_of(frames_of(old.entries(), NATIVE)[-1]))
    async with served(Grown(old, EventLog())) as (port, _):
        status, got, last = await sent(port, last, until="finish")
        assert (status, got, last.split(".")[0]) == (200, [], "1")
        assert await sent(port, last, until="finish") == (204, [], last)


def _known(client: Client) -> int:
    """How many partitions it knows of."""
    return int(getattr(getattr(client, "leaves", None), "_known", 0))


async def test_who_waits_while_the_topic_grows_looks_back_for_minutes() -> None:
    """Not to the last frame that it has, which may be days old: what is elsewhere is younger than the growth."""
    old, new = EventLog([*of("c", spoken("one", TEXT)), *others(3)]), EventLog(others(30))
    starts = list[int]()
    grown = Grown(old, new)
    grown.partitions, last = 1, str(position_of(frames_of(old.entries(), NATIVE)[-1]))
    grown.home = 0

    async def since(partition: int, time_ms: int) -> int | None:
        starts.append(time_ms)
        return await grown.logs[partition].since(partition, time_ms)

    grown.since = since  # type: ignore[method-assign] # to see what is asked
    async with served(grown) as (port, _):
        waiting = asyncio.create_task(sent(port, last))
        await until(lambda: any(_known(each) for each in grown.hub.clients(0)), "it waits", 10)
        grown.partitions, grown.home = 2, 1
        status, got, last = await waiting
    assert (status, got, read_position(last)[:2]) == (200, [], (1, new.end))
    assert time.time() - AWAY_S - 120 < starts[-1] / 1000 < time.time() - AWAY_S


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


ASKED = StreamRequest("c", NATIVE, SSE, start="start", until_finish=True)


@pytest.fixture
async def gate(kafka: str, unique: str) -> AsyncIterator[Gate]:
    """A gateway with two answers of one conversation, the second of which is open."""
    async with listening(kafka, unique) as gate:
        await gate.say([*said("c", "m1", ["Hello"]), *said("c", "m2", ["again"], finish=False)])
        yield gate


async def seen(gate: Gate, **wanted: Any) -> tuple[PreparedReading, bool]:
    """What is seen by a reading, and whether nothing comes."""
    asked = msgspec.structs.replace(ASKED, **wanted)
    async with gate.serving.prepared(asked) as prepared:
        return prepared, prepared.nothing_comes(asked)


@pytest.mark.integration
async def test_a_message_is_looked_for_up_to_the_head(gate: Gate) -> None:
    """Its first frames are there, whatever lies before them; of one that is nowhere there are none."""
    prepared, _ = await seen(gate, message=b"m2")
    assert prepared.peeked
    assert {frame.message for frame in prepared.peeked} == {b"m2"}
    prepared, nothing = await seen(gate, message=b"m3")
    assert (prepared.peeked, nothing) == (None, False)


@pytest.mark.integration
async def test_nothing_comes_behind_the_end(gate: Gate) -> None:
    """Of a message that is over, while the conversation's other one is open."""
    prepared, _ = await seen(gate, message=b"m1")
    assert prepared.peeked
    end = prepared.peeked[-1]
    place = Position(prepared.reading.partition, end.offset, end.part, end.back)
    assert (await seen(gate, start=place, message=b"m1"))[1]
    assert not (await seen(gate, start=place))[1]


@pytest.mark.integration
async def test_who_does_not_ask_for_an_end_waits(gate: Gate) -> None:
    """Something may always come."""
    prepared, _ = await seen(gate, message=b"m1")
    assert prepared.peeked
    end = prepared.peeked[-1]
    place = Position(prepared.reading.partition, end.offset, end.part, end.back)
    assert not (await seen(gate, start=place, message=b"m1", until_finish=False))[1]
