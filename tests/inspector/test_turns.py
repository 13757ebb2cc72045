"""One piece of work at a time."""

import asyncio
import threading
from contextlib import suppress

import pytest

from tokenmill.gateway.problems import Refused
from tokenmill.inspector.turns import Turns


class Work:
    """Goes on until it is told to end; counts how much of it is done at once."""

    def __init__(self) -> None:
        self.began, self.goes_on = threading.Event(), threading.Event()
        self.at_once = self.most = 0

    def __call__(self) -> str:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        self.began.set()
        assert self.goes_on.wait(30)
        self.at_once -= 1
        return "over"


async def begun(work: Work) -> None:
    """Wait until some of it is being done."""
    assert await asyncio.to_thread(work.began.wait, 30)


async def test_others_wait_for_their_turn() -> None:
    """And have it, one after the other."""
    turns, work = Turns(), Work()
    asked = [asyncio.create_task(turns.done(work)) for _ in range(4)]
    await begun(work)
    await asyncio.sleep(0.05)
    work.goes_on.set()
    assert await asyncio.gather(*asked) == ["over"] * 4
    assert work.most == 1


async def test_who_waits_too_long_is_told_to_ask_again() -> None:
    """While the work before goes on."""
    turns, work = Turns(0.05), Work()
    first = asyncio.create_task(turns.done(work))
    await begun(work)
    with pytest.raises(Refused) as refused:
        await turns.done(work)
    assert refused.value.kind.status == 429
    assert refused.value.headers["retry-after"].isdigit()
    work.goes_on.set()
    assert await first == "over"


async def test_who_leaves_takes_no_turn_away() -> None:
    """A thread can't be stopped: the next one waits for it, whatever comes of it."""
    turns, work = Turns(), Work()
    first = asyncio.create_task(turns.done(work))
    await begun(work)
    first.cancel()
    with suppress(asyncio.CancelledError):
        await first
    second = asyncio.create_task(turns.done(work))
    await asyncio.sleep(0.05)
    assert work.most == 1
    work.goes_on.set()
    assert await second == "over"
    assert work.most == 1


async def test_work_that_fails_ends_its_turn() -> None:
    """With its own error for whoever asked."""
    turns = Turns()
    with pytest.raises(ValueError, match="no such"):
        await turns.done(lambda: int("no such number"))
    assert await turns.done(lambda: 1) == 1
