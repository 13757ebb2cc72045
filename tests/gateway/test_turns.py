"""Names take turns: `gateway/turns.py`."""

import asyncio

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


async def settled() -> None:
    for _ in range(5):
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
