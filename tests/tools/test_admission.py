"""Which calls a server gets that breaks off again and again."""

import asyncio

import pytest

from tests.support.clock import Clock
from tests.support.stage import until
from tokenmill.tools import admission
from tokenmill.tools.admission import BREAK_S, FAILURES, Admission


def broken(clock: Clock) -> Admission:
    """Of a server that has been left alone for long enough to be tried."""
    admits = Admission(clock)
    for _ in range(FAILURES):
        admits.fails()
    assert admits.rest_s == BREAK_S
    clock.now += BREAK_S
    return admits


async def test_a_server_that_works_gets_all_calls() -> None:
    """Also after a few failures, and again after an answer."""
    admits = Admission(Clock(0.0))
    for _ in range(2):
        for _ in range(FAILURES - 1):
            admits.fails()
        with admits.sent(), admits.sent():
            async with asyncio.timeout(1):
                await admits.wait()
        assert (admits.rest_s, admits.failures) == (0, FAILURES - 1)
        admits.works()


async def test_calls_wait_for_the_one_that_tries() -> None:
    """Until it is answered. It waits for none itself."""
    admits = broken(Clock(0.0))
    await admits.wait()
    with admits.sent():
        waiting = [asyncio.create_task(admits.wait()) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(each.done() for each in waiting)
        admits.works()
        async with asyncio.timeout(1):
            await asyncio.gather(*waiting, admits.wait())
    assert admits.failures == 0


async def test_a_try_that_breaks_ends_the_wait() -> None:
    """The calls that waited are then told for how long nothing is sent."""
    clock = Clock(0.0)
    admits = broken(clock)
    with admits.sent():
        waiting = asyncio.create_task(admits.wait())
        await asyncio.sleep(0)
        admits.fails()
    async with asyncio.timeout(1):
        await waiting
    assert (admits.failures, admits.rest_s) == (FAILURES + 1, BREAK_S)


async def test_a_try_that_tells_nothing_is_replaced_by_one_of_those_who_wait() -> None:
    """By one only."""
    admits, sent = broken(Clock(0.0)), list[str]()

    async def call(name: str) -> None:
        await admits.wait()
        with admits.sent():
            sent.append(name)
            await asyncio.Event().wait()

    calls = [asyncio.create_task(call(name)) for name in "abc"]
    await until(lambda: sent, "one tries")
    calls[0].cancel()
    await until(lambda: len(sent) > 1, "another one tries")
    await asyncio.sleep(0)
    assert sent == ["a", "b"]
    for each in calls:
        each.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


async def test_a_long_try_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end says nothing of those that went ahead; if they break, the server is left alone at once."""
    monkeypatch.setattr(admission, "TRY_S", 0.05)
    admits = broken(Clock(0.0))
    with admits.sent():
        async with asyncio.timeout(5):
            await admits.wait()
        with admits.sent():
            admits.fails()
        assert (admits.rest_s, admits.failures) == (BREAK_S, FAILURES + 1)
