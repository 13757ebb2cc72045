"""The circuit breaker: one failure is waited for, the next calls are not."""

import asyncio
from contextlib import suppress

import pytest

from tests.support.clock import Clock
from tests.support.stage import until
from tokenmill.errors import Unavailable
from tokenmill.store import Breaker, GuardedStore, Head, HeadChanged, MemoryStore, Place, Snapshot
from tokenmill.store.guarded import FIRST_PAUSE_S, LONGEST_PAUSE_S


class Moody(MemoryStore):
    """A store that can be made to fail, or never to answer."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self.silent = False
        self.calls = 0

    async def load(self, topic: str, partition: int) -> Snapshot | None:
        self.calls += 1
        if self.silent:
            await asyncio.Event().wait()
        if self.away:
            raise Unavailable("away")
        return await super().load(topic, partition)


def _guarded(store: MemoryStore, clock: Clock, failures: list[str]) -> GuardedStore:
    return GuardedStore(store, deadline=0.05, failed=lambda op, _: failures.append(op), breaker=Breaker(clock))


async def test_an_open_breaker_refuses_without_asking() -> None:
    """After a failure nothing is tried for a pause, then one call is, and a success closes it."""
    store, clock, failures = Moody(), Clock(100.0), list[str]()
    guarded = _guarded(store, clock, failures)
    store.away = True
    for _ in range(3):
        with pytest.raises(Unavailable):
            await guarded.load("tokens", 0)
    assert (store.calls, failures, guarded.refusing) == (1, ["load"], True)
    clock.now += FIRST_PAUSE_S
    store.away = False
    assert await guarded.load("tokens", 0) is None
    assert not guarded.refusing


async def test_after_an_answer_the_next_pause_is_the_first_again() -> None:
    """A changed head is an answer, too. A store that fails once a day is not left alone for longer each day."""
    store, clock = Moody(), Clock(100.0)
    guarded = _guarded(store, clock, [])
    head = await guarded.write_full("tokens", 0, None, Place(1, 10), b"", {})
    for pause in (FIRST_PAUSE_S, 2 * FIRST_PAUSE_S):
        store.away = True
        with pytest.raises(Unavailable):
            await guarded.load("tokens", 0)
        clock.now += pause
    store.away = False
    for answered in (
        lambda: guarded.load("tokens", 0),
        lambda: guarded.write_full("tokens", 0, None, Place(1, 11), b"", {}),
    ):
        with suppress(HeadChanged):
            await answered()
        store.away = True
        with pytest.raises(Unavailable):
            await guarded.load("tokens", 0)
        clock.now += FIRST_PAUSE_S
        store.away = False
        assert not guarded.refusing
    assert await guarded.head("tokens", 0) == head


async def test_an_answer_closes_the_breaker_at_once() -> None:
    """Also one to a call that began before another one failed."""
    clock = Clock(100.0)
    breaker = Breaker(clock)
    breaker.failed(clock.now)
    assert breaker.open
    breaker.succeeded()
    assert not breaker.open


def test_pauses_double_up_to_a_longest_one() -> None:
    """A store that stays away is asked less and less, but it is asked."""
    clock = Clock(100.0)
    breaker = Breaker(clock)
    pauses = []
    for _ in range(8):
        began = clock.now
        breaker.failed(began)
        while breaker.open:
            clock.now += FIRST_PAUSE_S
        pauses.append(clock.now - began)
    assert pauses[:3] == [FIRST_PAUSE_S, 2 * FIRST_PAUSE_S, 4 * FIRST_PAUSE_S]
    assert pauses[-1] == LONGEST_PAUSE_S


async def test_calls_that_fail_side_by_side_are_one_failure() -> None:
    """An outage that hits the restores of many partitions is waited for as long as one that hits a single call."""
    store, clock, failures = Moody(), Clock(100.0), list[str]()
    guarded = _guarded(store, clock, failures)
    store.silent = True
    loads = [asyncio.create_task(guarded.load("tokens", partition)) for partition in range(8)]
    await until(lambda: store.calls == len(loads), "all have asked")
    clock.now += 1
    results = await asyncio.gather(*loads, return_exceptions=True)
    assert all(isinstance(result, Unavailable) for result in results)
    clock.now += FIRST_PAUSE_S
    store.silent = False
    assert await guarded.load("tokens", 0) is None


async def test_what_is_owned_elsewhere_goes_though_the_breaker_is_open() -> None:
    """It is this process alone that forgets."""
    store, clock = Moody(), Clock(100.0)
    guarded = _guarded(store, clock, [])
    await guarded.write_full("tokens", 0, None, Place(1, 1), b"", {})
    store.away = True
    with pytest.raises(Unavailable):
        await guarded.load("tokens", 0)
    guarded.keep([])
    assert await store.head("tokens", 0) is None


async def test_a_whole_operation_has_a_deadline() -> None:
    """A store that never answers is a store that is away."""
    store, failures = Moody(), list[str]()
    store.silent = True
    with pytest.raises(Unavailable, match="no answer within"):
        await _guarded(store, Clock(100.0), failures).load("tokens", 0)
    assert failures == ["load"]


async def test_a_changed_head_is_an_answer() -> None:
    """It goes through to the writer and opens nothing."""
    failures = list[str]()
    guarded = _guarded(MemoryStore(), Clock(100.0), failures)
    head = await guarded.write_full("tokens", 0, None, Place(1, 10), b"", {})
    with pytest.raises(HeadChanged):
        await guarded.write_full("tokens", 0, None, Place(1, 11), b"", {})
    newer = await guarded.write_delta("tokens", 0, head, Place(1, 12), b"", {b"a": b"1"}, [])
    assert (failures, guarded.refusing) == ([], False)
    assert await guarded.head("tokens", 0) == newer == Head(head.generation, 1, 12, 1)


async def test_a_load_has_longer() -> None:
    """It takes as many pages as there are messages; another operation that took as long would be given up."""

    class Silent(Moody):
        async def head(self, topic: str, partition: int) -> Head | None:
            await asyncio.Event().wait()
            return await super().head(topic, partition)

    store = Silent()
    store.silent = True
    assert _guarded(store, Clock(100.0), []).load_s == pytest.approx(0.3)
    with pytest.raises(Unavailable, match=r"load: no answer within 0.3 s"):
        await _guarded(store, Clock(100.0), []).load("tokens", 0)
    with pytest.raises(Unavailable, match=r"head: no answer within 0.05 s"):
        await _guarded(store, Clock(100.0), []).head("tokens", 0)


async def test_the_store_is_closed_with_its_guard() -> None:
    """It has connections."""

    class Closing(MemoryStore):
        closed = False

        async def close(self) -> None:
            self.closed = True

    store = Closing()
    await _guarded(store, Clock(100.0), []).close()
    assert store.closed
