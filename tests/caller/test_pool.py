"""Places at the URLs of one upstream."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.clock import Clock
from tests.support.stage import until
from tokenmill.caller.failure import UpstreamFailed
from tokenmill.caller.pool import BREAK_S, FAILURES, Place, Pool
from tokenmill.config import Upstream


def pool(*urls: str, clock: Callable[[], float] | None = None, **settings: Any) -> Pool:
    """A pool of these URLs."""
    upstream = Upstream(models=["m"], urls=list(urls or ("http://a",)), **settings)
    return Pool(upstream, clock or Clock(0.0))


async def test_the_least_loaded_url_is_asked() -> None:
    """Of equals the one that was asked longest ago; one that failed for this answer comes last."""
    three = pool("http://a", "http://b", "http://c/")
    taken = [await three.take() for _ in range(3)]
    assert [each.url for each in taken] == ["http://a", "http://b", "http://c"]
    three.give_back(taken[1], failed=False)
    assert (await three.take()).url == "http://b"
    for each in taken:
        three.give_back(each, failed=None)
    assert (await three.take(avoided={"http://a"})).url == "http://c"


async def test_who_finds_no_place_waits_in_order() -> None:
    """A place that is given back is the first one's."""
    one = pool(calls=1)
    first = await one.take()
    waiting = [asyncio.create_task(one.take()) for _ in range(2)]
    await until(lambda: one.waiting == 2, "both wait")
    one.give_back(first, failed=False)
    late = asyncio.create_task(one.take())  # comes when there is a place, but behind those who waited
    second = await waiting[0]
    assert not waiting[1].done()
    one.give_back(second, failed=False)
    one.give_back(await waiting[1], failed=False)
    await late
    assert (one.waiting, one.running) == (0, 1)


async def test_a_full_queue_refuses_at_once_and_a_long_wait_ends() -> None:
    """Both with 429: come back later."""
    one = pool(calls=1, queue=1, queue_s=0.5)
    await one.take()
    waiting = asyncio.create_task(one.take())
    await until(lambda: one.waiting == 1, "one waits")
    for late, why in ((one.take(), "queue for them are full"), (waiting, "no free place within 0.5 s")):
        with pytest.raises(UpstreamFailed, match=why) as refused:
            await late
        assert (refused.value.status, refused.value.kind) == (429, "full")
    assert one.waiting == 0


@pytest.mark.parametrize("called", [False, True])
async def test_who_leaves_the_queue_holds_nobody_up(called: bool) -> None:
    """Also in the moment in which it was its turn, just before it was called or just after."""
    one = pool(calls=1)
    place = await one.take()
    leaving, staying = asyncio.create_task(one.take()), asyncio.create_task(one.take())
    await until(lambda: one.waiting == 2, "both wait")
    if not called:
        leaving.cancel()
    one.give_back(place, failed=False)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    async with asyncio.timeout(5):
        one.give_back(await staying, failed=False)
        assert (await one.take()).url == "http://a"


async def test_a_url_that_fails_again_and_again_is_left_alone_then_tried_once() -> None:
    """Meanwhile others are asked; without others nobody waits."""
    clock = Clock(0.0)
    two = pool("http://a", "http://b", clock=clock)
    for _ in range(FAILURES):
        two.give_back(await two.take(avoided={"http://b"}), failed=True)
    assert two.closed == 1
    assert {(await two.take()).url for _ in range(3)} == {"http://b"}
    clock.now = BREAK_S
    probe = await two.take()
    assert probe.url == "http://a"
    assert {(await two.take()).url for _ in range(3)} == {"http://b"}
    two.give_back(probe, failed=False)
    assert two.closed == 0


async def test_a_url_is_tried_again_while_an_answer_from_before_goes_on() -> None:
    """A long stream is not the try: neither its place nor its end, which says nothing of the server."""
    clock = Clock(0.0)
    one = pool(clock=clock)
    long, given_up = await one.take(), await one.take()
    for _ in range(FAILURES):
        one.give_back(await one.take(), failed=True)
    assert one.closed == 1
    clock.now = BREAK_S
    probe = await one.take()
    one.give_back(given_up, failed=None)
    with pytest.raises(UpstreamFailed):
        await one.take()
    one.give_back(probe, failed=None)
    one.give_back(await one.take(), failed=False)
    assert (one.closed, one.running) == (0, 1)
    one.give_back(long, failed=False)


async def tried(one: Pool, clock: Clock) -> Place:
    """The try, at a pool of one URL that was left alone for long enough."""
    for _ in range(FAILURES):
        one.give_back(await one.take(), failed=True)
    clock.now += BREAK_S
    return await one.take()


async def test_a_try_that_begins_to_answer_opens_its_url_to_all() -> None:
    """Who waits is called; how long the answer goes on, and how it ends, is its own affair then."""
    clock = Clock(0.0)
    two = pool("http://a", "http://b", calls=2, clock=clock)
    for _ in range(FAILURES):
        two.give_back(await two.take(avoided={"http://b"}), failed=True)
    _, other = [await two.take() for _ in range(2)]
    clock.now = BREAK_S
    probe = await two.take()
    waiting = asyncio.create_task(two.take())
    await until(lambda: two.waiting == 1, "one waits")
    two.begins(other)
    assert (two.closed, two.waiting) == (1, 1)
    two.begins(probe)
    async with asyncio.timeout(5):
        assert ((await waiting).url, two.closed) == ("http://a", 0)
    two.give_back(probe, failed=True)
    assert (await two.take()).url == "http://a"


async def test_a_server_that_breaks_all_its_answers_off_is_left_alone_though_they_begin() -> None:
    """Only of a try it is enough to begin: what broke off is lost to its client, and quick as a refusal."""
    one = pool()
    for _ in range(FAILURES):
        place = await one.take()
        one.begins(place)
        one.give_back(place, failed=True)
    assert one.closed == 1


async def test_a_try_from_before_an_answer_that_worked_is_none_any_more() -> None:
    """Where the URL fails again, while it is still silent, another one tries it; its own end does not end that one."""
    clock = Clock(0.0)
    one = pool(clock=clock)
    old = await one.take()
    silent = await tried(one, clock)
    one.give_back(old, failed=False)
    probe = await tried(one, clock)
    one.begins(silent)
    one.give_back(silent, failed=None)
    assert one.closed == 1
    one.begins(probe)
    assert one.closed == 0


async def test_refusals_that_another_url_answered_are_failures_of_the_one_that_refused() -> None:
    """As it is quick it has the fewest answers always. Those from before it worked say nothing any more."""
    clock = Clock(0.0)
    two = pool("http://a", "http://b", clock=clock)
    refused = [await two.take(avoided={"http://b"}) for _ in range(2 * FAILURES)]
    for place in refused:
        two.give_back(place, failed=None)
    assert two.closed == 0
    for place in refused[:FAILURES]:
        two.refused(place)
    assert (two.closed, (await two.take()).url) == (1, "http://b")
    clock.now = BREAK_S
    two.begins(await two.take())
    for place in refused[FAILURES:]:
        two.refused(place)
    assert two.closed == 0


async def test_refusals_never_close_the_last_url() -> None:
    """Each refuses what the other one takes, and answers come in any order: also while one waits to be tried."""
    clock = Clock(0.0)
    two = pool("http://a", "http://b", clock=clock)
    places = [await two.take() for _ in range(4 * FAILURES)]
    for place in places:
        two.give_back(place, failed=None)
    for place in sorted(places, key=lambda each: each.url):
        two.refused(place)
        assert two.closed <= 1
    clock.now = BREAK_S
    assert ((await two.take()).url, two.closed) == ("http://a", 1)
    for place in places:
        two.refused(place)
    assert (await two.take()).url == "http://b"


async def test_where_all_are_left_alone_nobody_waits() -> None:
    """503 at once, and one try when the time is over."""
    clock = Clock(0.0)
    one = pool(clock=clock)
    for _ in range(FAILURES):
        one.give_back(await one.take(), failed=True)
    with pytest.raises(UpstreamFailed) as refused:
        await one.take()
    assert refused.value.status == 503
    clock.now = BREAK_S
    one.give_back(await one.take(), failed=True)
    assert one.closed == 1


async def place_of_last_try(pool: Pool) -> Place:
    """Taken from a pool of one URL, which is left alone if this one fails, too."""
    for _ in range(FAILURES - 1):
        pool.give_back(await pool.take(), failed=True)
    return await pool.take()


async def test_who_waits_is_told_when_all_are_left_alone() -> None:
    """All of them, though the last answer under way gives back one place; when the time is over the server is asked."""
    clock = Clock(0.0)
    one = pool(calls=1, clock=clock)
    place = await place_of_last_try(one)
    waiting = [asyncio.create_task(one.take()) for _ in range(3)]
    await until(lambda: one.waiting == 3, "all wait")
    one.give_back(place, failed=True)
    async with asyncio.timeout(5):
        told = await asyncio.gather(*waiting, return_exceptions=True)
    assert [each.status for each in told if isinstance(each, UpstreamFailed)] == [503] * 3
    clock.now = BREAK_S
    async with asyncio.timeout(5):
        assert (await one.take()).url == "http://a"


async def test_who_is_called_and_leaves_lets_the_others_be_told() -> None:
    """A request that is given up in the moment in which all are left alone."""
    one = pool(calls=1)
    place = await place_of_last_try(one)
    leaving, *staying = [asyncio.create_task(one.take()) for _ in range(3)]
    await until(lambda: one.waiting == 3, "all wait")
    one.give_back(place, failed=True)
    leaving.cancel()
    async with asyncio.timeout(5):
        gone, *told = await asyncio.gather(leaving, *staying, return_exceptions=True)
    assert isinstance(gone, asyncio.CancelledError)
    assert [each.status for each in told if isinstance(each, UpstreamFailed)] == [503] * 2
    assert one.waiting == 0


async def test_a_place_that_time_has_made_free_is_that_of_who_waits() -> None:
    """Nobody gives it back: whoever comes then lets the first one in, and waits behind it."""
    clock = Clock(0.0)
    two = pool("http://a", "http://b", calls=1, clock=clock)
    for _ in range(FAILURES):
        two.give_back(await two.take(avoided={"http://b"}), failed=True)
    assert (await two.take()).url == "http://b"
    first = asyncio.create_task(two.take())
    await until(lambda: two.waiting == 1, "one waits")
    clock.now = BREAK_S
    late = asyncio.create_task(two.take())
    async with asyncio.timeout(5):
        probe = await first
    assert (probe.url, late.done()) == ("http://a", False)
    two.give_back(probe, failed=False)
    async with asyncio.timeout(5):
        assert (await late).url == "http://a"


async def test_a_url_that_is_well_again_gets_all_that_it_takes() -> None:
    """One answer that comes back opens as many places as it has."""
    clock = Clock(0.0)
    two = pool("http://a", "http://b", calls=2, clock=clock)
    for _ in range(FAILURES):
        two.give_back(await two.take(avoided={"http://b"}), failed=True)
    busy = [await two.take() for _ in range(2)]
    waiting = [asyncio.create_task(two.take()) for _ in range(3)]
    await until(lambda: two.waiting == 3, "all wait")
    clock.now = BREAK_S
    two.give_back(busy[0], failed=False)
    async with asyncio.timeout(5):
        probe = next(each for each in await asyncio.gather(*waiting[:2]) if each.url == "http://a")
        assert not waiting[2].done()
        two.give_back(probe, failed=False)
        await waiting[2]
        assert (await two.take()).url == "http://a"
    assert (two.waiting, two.running) == (0, 4)
