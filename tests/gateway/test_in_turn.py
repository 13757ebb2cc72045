"""One piece of work at a time, of one name after the other."""

import asyncio
import threading
from contextlib import suppress
from functools import partial

import pytest

from tokenmill.gateway.in_turn import InTurn
from tokenmill.gateway.problems import Refused


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
    one, work = InTurn("later"), Work()
    asked = [asyncio.create_task(one.done("a", work)) for _ in range(4)]
    await begun(work)
    await asyncio.sleep(0.05)
    work.goes_on.set()
    assert await asyncio.gather(*asked) == ["over"] * 4
    assert work.most == 1


async def test_who_waits_too_long_is_told_to_ask_again() -> None:
    """While the work before goes on."""
    one, work = InTurn("ask for less", 0.05), Work()
    first = asyncio.create_task(one.done("a", work))
    await begun(work)
    with pytest.raises(Refused) as refused:
        await one.done("a", work)
    assert refused.value.kind.status == 429
    assert refused.value.headers["retry-after"].isdigit()
    assert refused.value.detail == "there was no turn within 0.05 s: ask for less"
    work.goes_on.set()
    assert await first == "over"


async def test_who_leaves_takes_no_turn_away() -> None:
    """A thread can't be stopped: the next one waits for it, whatever comes of it."""
    one, work = InTurn("later"), Work()
    first = asyncio.create_task(one.done("a", work))
    await begun(work)
    first.cancel()
    with suppress(asyncio.CancelledError):
        await first
    second = asyncio.create_task(one.done("a", work))
    await asyncio.sleep(0.05)
    assert work.most == 1
    work.goes_on.set()
    assert await second == "over"
    assert work.most == 1


async def test_work_that_fails_ends_its_turn() -> None:
    """With its own error for whoever asked."""
    one = InTurn("later")
    with pytest.raises(ValueError, match="no such"):
        await one.done("a", lambda: int("no such number"))
    assert await one.done("a", lambda: 1) == 1


async def test_names_take_turns() -> None:
    """However much one asks for, another one's work is next but one."""
    one, work, order = InTurn("later"), Work(), list[str]()
    first = asyncio.create_task(one.done("a", work))
    await begun(work)
    names = ["a"] * 6 + ["b"]
    asked = [asyncio.create_task(one.done(name, partial(order.append, name))) for name in names]
    await asyncio.sleep(0)
    work.goes_on.set()
    await first
    await asyncio.gather(*asked)
    assert order == ["a", "b", "a", "a", "a", "a", "a"]


async def test_who_waits_in_vain_takes_no_turn_along() -> None:
    """The next one has it, as soon as the thread is done."""
    one, work = InTurn("later", 0.05), Work()
    first = asyncio.create_task(one.done("a", work))
    await begun(work)
    with pytest.raises(Refused):
        await one.done("b", work)
    work.goes_on.set()
    assert await first == "over"
    assert await one.done("b", work) == "over"
