"""Names take turns: `gateway/fairness.py`."""

import asyncio
import threading
from contextlib import suppress
from functools import partial
from random import Random

import pytest

from tokenmill.gateway.fairness import FairSemaphore, FairThread
from tokenmill.gateway.problems import Refused


class Line:
    """Clients that wait, and the order in which their turns came."""

    def __init__(self, most: int) -> None:
        self.turns = FairSemaphore(most)
        self.came: list[str] = []

    def join(self, name: str) -> "asyncio.Task[None]":
        return asyncio.create_task(self._wait(name))

    async def _wait(self, name: str) -> None:
        await self.turns.acquire(name)
        self.came.append(name)

    async def next(self) -> None:
        """A turn is over."""
        self.turns.release()
        await settled()


async def settled(rounds: int = 5) -> None:
    for _ in range(rounds):
        await asyncio.sleep(0)


async def test_a_name_with_many_keeps_nobody_waiting() -> None:
    """Each name has one turn before any has another; within a name it is first come, first served."""
    line = Line(2)
    for name in ["a"] * 8 + ["b", "c", "b"]:
        line.join(name)
        await settled()
    assert line.came == ["a", "a"]
    for _ in range(9):
        await line.next()
    assert line.came == ["a", "a", "a", "b", "c", "a", "b", "a", "a", "a", "a"]


async def test_there_are_never_more_than_so_many() -> None:
    """What is given back is taken again, or kept for whoever comes."""
    line = Line(1)
    line.join("a")
    await settled()
    await line.next()
    waiting = [line.join("b"), line.join("b")]
    await settled()
    assert (line.came, [task.done() for task in waiting]) == (["a", "b"], [True, False])
    await line.next()
    assert waiting[1].done()


async def test_who_leaves_takes_no_turn_along() -> None:
    """Neither while it waits, nor in the moment in which its turn comes."""
    line = Line(1)
    line.join("a")
    await settled()
    waits, called, last = line.join("b"), line.join("c"), line.join("d")
    await settled()
    waits.cancel()
    await settled()
    line.turns.release()
    called.cancel()  # its turn was given, and it does not know yet
    await asyncio.gather(waits, called, return_exceptions=True)
    async with asyncio.timeout(5):
        await last
    assert line.came == ["a", "d"]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await line.turns.acquire("e")


@pytest.mark.parametrize("name", ["b", "c"])
async def test_a_turn_goes_past_who_is_cancelled_just_before(name: str) -> None:
    """It is in the queue still, and can't be given anything: the next one of its name, or of another, has the turn."""
    line = Line(1)
    line.join("a")
    await settled()
    cancelled = line.join("b")
    next_one = line.join(name)
    await settled()
    cancelled.cancel()
    line.turns.release()
    async with asyncio.timeout(5):
        await next_one
    await asyncio.wait([cancelled])
    assert cancelled.cancelled()
    await line.next()
    async with asyncio.timeout(5):
        await line.turns.acquire("d")


async def test_who_leaves_after_its_turn_was_passed_on_takes_nobody_elses_along() -> None:
    """Not even of its own name, and with nobody behind it the turn is kept."""
    line = Line(1)
    line.join("a")
    await settled()
    cancelled = line.join("b")
    await settled()
    cancelled.cancel()
    line.turns.release()
    holds = line.join("b")
    waits = line.join("b")
    await settled()
    assert (holds.done(), waits.done(), cancelled.cancelled()) == (True, False, True)
    await line.next()
    assert waits.done()


class Holding:
    """Clients that keep their turns until they are told to go, or cancelled at any moment."""

    def __init__(self, most: int) -> None:
        self.turns = FairSemaphore(most)
        self.waiting, self.held = set[str](), set[str]()
        self.ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    def join(self, name: str, number: int) -> None:
        client = f"{name}{number}"
        self.ends[client] = asyncio.Event()
        self.tasks[client] = asyncio.create_task(self._stay(name, client))

    async def _stay(self, name: str, client: str) -> None:
        self.waiting.add(client)
        try:
            await self.turns.acquire(name)
        finally:
            self.waiting.remove(client)
        self.held.add(client)
        try:
            await self.ends[client].wait()
        finally:
            self.held.remove(client)
            asyncio.get_running_loop().call_soon(self.turns.release)  # as a callback, like who reads the past


@pytest.mark.parametrize("seed", range(20))
async def test_no_turn_is_lost_however_clients_come_and_go(seed: int) -> None:
    """Once all is quiet nobody waits while a turn is free, and in the end all of them can be had."""
    random, most = Random(seed), 1 + seed % 3
    line = Holding(most)
    for number in range(100):
        line.join(random.choice("abc"), number)
        here = sorted(line.waiting | line.held)
        for client in random.sample(here, min(len(here), random.randrange(4))):
            if random.random() < 0.5:
                line.tasks[client].cancel()
            else:
                line.ends[client].set()
        await settled(random.randrange(3))
        assert len(line.held) <= most
        if not number % 10:
            await settled(5 + 5 * len(line.waiting))  # some were told to go before their turn came
            assert len(line.held) == most or not line.waiting
    for task in line.tasks.values():
        task.cancel()
    ended = await asyncio.gather(*line.tasks.values(), return_exceptions=True)
    assert not [each for each in ended if isinstance(each, Exception)]
    await settled()
    async with asyncio.timeout(5):
        for _ in range(most):
            await line.turns.acquire("last")


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
    one, work = FairThread("later"), Work()
    asked = [asyncio.create_task(one.run("a", work)) for _ in range(4)]
    await begun(work)
    await asyncio.sleep(0.05)
    work.goes_on.set()
    assert await asyncio.gather(*asked) == ["over"] * 4
    assert work.most == 1


async def test_who_waits_too_long_is_told_to_ask_again() -> None:
    """While the work before goes on."""
    one, work = FairThread("ask for less", 0.05), Work()
    first = asyncio.create_task(one.run("a", work))
    await begun(work)
    with pytest.raises(Refused) as refused:
        await one.run("a", work)
    assert refused.value.kind.status == 429
    assert refused.value.headers["retry-after"].isdigit()
    assert refused.value.detail == "the work did not begin within 0.05 s: ask for less"
    work.goes_on.set()
    assert await first == "over"


async def test_who_leaves_takes_no_turn_away() -> None:
    """A thread can't be stopped: the next one waits for it, whatever comes of it."""
    one, work = FairThread("later"), Work()
    first = asyncio.create_task(one.run("a", work))
    await begun(work)
    first.cancel()
    with suppress(asyncio.CancelledError):
        await first
    second = asyncio.create_task(one.run("a", work))
    await asyncio.sleep(0.05)
    assert work.most == 1
    work.goes_on.set()
    assert await second == "over"
    assert work.most == 1


async def test_work_that_fails_ends_its_turn() -> None:
    """With its own error for whoever asked."""
    one = FairThread("later")
    with pytest.raises(ValueError, match="no such"):
        await one.run("a", lambda: int("no such number"))
    assert await one.run("a", lambda: 1) == 1


async def test_names_take_turns() -> None:
    """However much one asks for, another one's work is next but one."""
    one, work, order = FairThread("later"), Work(), list[str]()
    first = asyncio.create_task(one.run("a", work))
    await begun(work)
    names = ["a"] * 6 + ["b"]
    asked = [asyncio.create_task(one.run(name, partial(order.append, name))) for name in names]
    await asyncio.sleep(0)
    work.goes_on.set()
    await first
    await asyncio.gather(*asked)
    assert order == ["a", "b", "a", "a", "a", "a", "a"]


async def test_who_waits_in_vain_takes_no_turn_along() -> None:
    """The next one has it, as soon as the thread is done."""
    one, work = FairThread("later", 0.05), Work()
    first = asyncio.create_task(one.run("a", work))
    await begun(work)
    with pytest.raises(Refused):
        await one.run("b", work)
    work.goes_on.set()
    assert await first == "over"
    assert await one.run("b", work) == "over"
