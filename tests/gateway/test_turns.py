"""Names take turns: `gateway/turns.py`."""

import asyncio
from random import Random

import pytest

from tokenmill.gateway.turns import Turns


class Line:
    """Clients that wait, and the order in which their turns came."""

    def __init__(self, most: int) -> None:
        self.turns = Turns(most)
        self.came: list[str] = []

    def join(self, name: str) -> "asyncio.Task[None]":
        return asyncio.create_task(self._wait(name))

    async def _wait(self, name: str) -> None:
        await self.turns.take(name)
        self.came.append(name)

    async def next(self) -> None:
        """A turn is over."""
        self.turns.give_back()
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
    line.turns.give_back()
    called.cancel()  # its turn was given, and it does not know yet
    await asyncio.gather(waits, called, return_exceptions=True)
    async with asyncio.timeout(5):
        await last
    assert line.came == ["a", "d"]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await line.turns.take("e")


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
    line.turns.give_back()
    async with asyncio.timeout(5):
        await next_one
    await asyncio.wait([cancelled])
    assert cancelled.cancelled()
    await line.next()
    async with asyncio.timeout(5):
        await line.turns.take("d")


async def test_who_leaves_after_its_turn_was_passed_on_takes_nobody_elses_along() -> None:
    """Not even of its own name, and with nobody behind it the turn is kept."""
    line = Line(1)
    line.join("a")
    await settled()
    cancelled = line.join("b")
    await settled()
    cancelled.cancel()
    line.turns.give_back()
    holds = line.join("b")
    waits = line.join("b")
    await settled()
    assert (holds.done(), waits.done(), cancelled.cancelled()) == (True, False, True)
    await line.next()
    assert waits.done()


class Holding:
    """Clients that keep their turns until they are told to go, or cancelled at any moment."""

    def __init__(self, most: int) -> None:
        self.turns = Turns(most)
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
            await self.turns.take(name)
        finally:
            self.waiting.remove(client)
        self.held.add(client)
        try:
            await self.ends[client].wait()
        finally:
            self.held.remove(client)
            asyncio.get_running_loop().call_soon(self.turns.give_back)  # as a callback, like who reads the past


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
            await line.turns.take("last")
