"""One task writes for all clients: collected frames, heartbeats, and who is slow."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from tests.support.pipes import FakePipe
from tests.support.stage import until
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.event_log.view import Frame
from tokenmill.gateway.streams.flusher import Flusher
from tokenmill.gateway.streams.outbox import Outbox
from tokenmill.gateway.streams.stream import Leaves, Stream, stays
from tokenmill.observe.gateway_table import Outcome
from tokenmill.tasks import beside

HEARTBEAT = b"!"


@asynccontextmanager
async def running(
    flush_s: float = 0.01, heartbeat_s: float = 60, counts: Counts | None = None
) -> AsyncIterator[Flusher]:
    flusher = Flusher(flush_s, heartbeat_s, counts)
    async with beside(flusher.run(), "the writer"):
        yield flusher


def added(flusher: Flusher, pipe: FakePipe, leaves: Leaves = stays, **caps: float) -> Stream:
    outbox = Outbox(pipe, int(caps.get("cap", 1_000)), caps.get("stall_s", 10), flusher.dirty)
    stream = Stream(outbox, (-1, 0), until_finish=False, leaves=leaves, heartbeat=HEARTBEAT)
    flusher.add(stream)
    return stream


def frame(offset: int) -> Frame:
    return Frame(offset, 1, 0, b"{}", b"m")


async def test_frames_of_a_moment_go_out_together() -> None:
    """Of all clients, each with a write of its own."""
    async with running() as flusher:
        pipes = [FakePipe(), FakePipe()]
        for stream in [added(flusher, pipe) for pipe in pipes]:
            stream.tell([frame(1)], b"a")
            stream.tell([frame(2)], b"b")
        await until(lambda: all(pipe.taken == b"ab" for pipe in pipes), "everything is written", 5)
        assert [pipe.writes for pipe in pipes] == [1, 1]


async def test_a_stuck_client_is_tried_again_and_disturbs_nobody() -> None:
    """It goes on where it was; meanwhile the processor is not kept busy."""
    async with running(flush_s=0) as flusher:
        stuck, free = FakePipe(room=1), FakePipe()
        slow, quick = added(flusher, stuck), added(flusher, free)
        slow.tell([frame(1)], b"abc")
        await until(lambda: stuck.taken, "the first write", 5)
        slow.tell([frame(2)], b"def")
        asked = stuck.asked
        quick.tell([frame(1)], b"x")
        await until(lambda: free.taken == b"x", "others are written to", 5)
        await asyncio.sleep(0.3)
        assert 0 < stuck.asked - asked < 30
        stuck.read(100)
        await until(lambda: stuck.taken == b"abcdef", "it goes on", 5)
        assert not slow.over.done()


async def test_a_client_that_does_not_keep_up_is_ended() -> None:
    """By bytes or by time, with the reason."""
    async with running() as flusher:
        for caps in ({"cap": 2}, {"stall_s": 0.1}):
            pipe = FakePipe(room=0)
            stream = added(flusher, pipe, **caps)
            stream.tell([frame(1)], b"a")
            await until(lambda: pipe.buffered, "it is written to", 5)  # noqa: B023 -- asked at once
            stream.tell([frame(2)], b"bcd")
            assert await asyncio.wait_for(stream.over, 5) == "slow"
            flusher.remove(stream)


async def test_many_who_become_slow_are_ended_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that others are written to meanwhile."""
    monkeypatch.setattr("tokenmill.gateway.streams.flusher.APART_S", 0.05)
    pipes, ended = [FakePipe(room=0) for _ in range(5)], list[float]()
    async with running() as flusher:
        streams = [added(flusher, pipe, cap=2) for pipe in pipes]
        for stream in streams:
            stream.over.add_done_callback(lambda _: ended.append(time.monotonic()))
            stream.tell([frame(1)], b"abc")
        await until(lambda: all(pipe.buffered for pipe in pipes), "they are written to", 5)
        for stream in streams:
            stream.tell([frame(2)], b"def")
        assert [await asyncio.wait_for(stream.over, 5) for stream in streams] == ["slow"] * 5
    assert ended[-1] - ended[0] > 0.1


async def test_silence_is_broken_by_heartbeats() -> None:
    """Only where it is silent; and they are no frames."""
    async with running(heartbeat_s=0.2) as flusher:
        pipe = FakePipe()
        stream = added(flusher, pipe)
        await until(lambda: pipe.taken == HEARTBEAT * 2, "two heartbeats", 5)
        assert stream.place == (-1, 0)


async def test_who_was_written_to_lately_needs_no_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does who has just come; those that are silent do, and they are counted."""
    monkeypatch.setattr("tokenmill.gateway.streams.flusher.LOOK_S", 0.01)
    counts = Counts()
    async with running(flush_s=0, heartbeat_s=60, counts=counts) as flusher:
        silent, new = FakePipe(), FakePipe()
        added(flusher, silent).outbox.written_at -= 60
        added(flusher, new)
        await until(lambda: silent.taken, "a heartbeat", 5)
        assert new.taken == b""
        assert counts.numbers.value("tokenmill_gateway_heartbeats_total") >= 1


async def test_what_comes_within_a_moment_is_collected() -> None:
    """Whoever comes later in it is waited for; afterwards nothing is looked at before there is something again."""
    async with running(flush_s=0.5) as flusher:
        pipe = FakePipe()
        stream = added(flusher, pipe)
        stream.tell([frame(1)], b"a")
        for _ in range(5):
            await asyncio.sleep(0)
        stream.tell([frame(2)], b"b")
        await until(lambda: pipe.taken == b"ab", "both are written", 5)
        assert (pipe.writes, flusher._wake.is_set()) == (1, False)


async def test_of_many_all_are_asked_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many at a time as may be; those that came meanwhile, too."""
    monkeypatch.setattr("tokenmill.gateway.streams.flusher.ASKED", 2)
    flusher, asked = Flusher(0.01, 60), Counter[int]()
    for number in range(5):
        added(flusher, FakePipe(), leaves=partial(asked.update, [number]))
    for times in (2, 4, 5, 7):
        flusher._ask()
        assert asked.total() == times
    added(flusher, FakePipe(), leaves=partial(asked.update, [5]))
    for _ in range(5):
        flusher._ask()
    assert set(asked) == set(range(6))


async def test_of_very_many_each_is_asked_within_five_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """More of them are asked at a look then: rights that have ended don't last longer because there are many."""
    monkeypatch.setattr("tokenmill.gateway.streams.flusher.ASKED", 1)
    flusher, asked = Flusher(0.01, 60), Counter[int]()
    for number in range(20):
        added(flusher, FakePipe(), leaves=partial(asked.update, [number]))
    for _ in range(5):
        flusher._ask()
    assert asked == dict.fromkeys(range(20), 1)


async def test_who_may_not_stay_is_ended() -> None:
    """Within about a second, for the reason that was given."""
    why: Outcome | None = None
    async with running() as flusher:
        stream = added(flusher, FakePipe(), leaves=lambda: why)
        why = "expired"
        assert await asyncio.wait_for(stream.over, 5) == "expired"


async def test_the_end_of_all_streams_can_be_waited_for() -> None:
    """Of those there are; without any there is nothing to wait for."""
    flusher = Flusher(0.01, 60)
    await flusher.emptied()
    streams = [added(flusher, FakePipe()) for _ in range(2)]
    assert set(flusher.streams) == set(streams)
    waiting = asyncio.create_task(flusher.emptied())
    flusher.remove(streams[0])
    await asyncio.sleep(0)
    assert not waiting.done()
    flusher.remove(streams[1])
    await asyncio.wait_for(waiting, 5)
    flusher.dirty(streams[1].outbox)  # what was under way for one that has left


async def test_nothing_is_written_for_a_stream_that_is_over() -> None:
    """Neither what was collected for it, nor what its socket did not take: nothing of it is kept."""
    flusher = Flusher(0.01, 60)
    collected, stuck = FakePipe(), FakePipe(room=0)
    streams = [added(flusher, pipe) for pipe in (collected, stuck)]
    for stream in streams:
        stream.tell([frame(1)], b"abc")
    flusher._write(streams[1].outbox, 0)
    streams[1].tell([frame(2)], b"def")
    flusher._write(streams[1].outbox, 0)
    for stream in streams:
        flusher.remove(stream)
    assert (flusher._dirty, flusher._full, flusher.streams) == (set(), set(), [])


async def test_what_nobody_has_a_stream_for_is_counted_at_once_too() -> None:
    """Long polls: nothing is written for them here, and they waited no longer than others. Each record counts once."""
    counts = Counts()
    delivery = counts.numbers.histograms["tokenmill_gateway_delivery_latency_seconds"]

    def delivery_has(number: int) -> bool:
        return delivery.count == number

    async with running(counts=counts) as flusher:
        for number in (3, 4):
            flusher.told([int(time.time() * 1000)] * (number - delivery.count))
            await until(partial(delivery_has, number), "they are in the histogram", 5)
