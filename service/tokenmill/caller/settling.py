"""Requests of which it is not known how far their answers have come, by partition, each until it has its fate.

Those of one partition are looked after together, from when all of them are there; what comes meanwhile is the next
round's. Nothing of a partition that is let go is: it is the next owner's then.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeAlias

from aiokafka import TopicPartition

from tokenmill.caller.answer import Answer
from tokenmill.caller.inheritance import Decide, Fate, Inherited
from tokenmill.worker.connect import until_available


class Looking(Protocol):
    """Looks after some of them, as `Inheritance` does."""

    async def settle(self, inherited: list[Inherited]) -> None:
        """Until each has its fate. Raises `Unavailable`; what has none by then may be settled again."""


Decided: TypeAlias = Callable[[TopicPartition, Inherited, Fate, Answer | None, str], None]
"""Gets each with its partition and what `Decide` gets."""


class Settling:
    """Some of them.

    Args:
        look: makes who looks after them, with what is told their fates.
        decided: is told those.
        patience_s: for a Kafka that does not answer.
        fail: is told why going on is impossible.
    """

    def __init__(
        self, look: Callable[[Decide], Looking], decided: Decided, patience_s: float, fail: Callable[[Exception], None]
    ) -> None:
        self._look = look
        self._decided = decided
        self._patience_s = patience_s
        self._fail = fail
        self._waiting: dict[TopicPartition, dict[int, Inherited]] = {}
        """By offset."""
        self._rounds: dict[TopicPartition, asyncio.Task[None]] = {}

    @property
    def count(self) -> int:
        """How many have no fate yet."""
        return sum(map(len, self._waiting.values()))

    @property
    def places(self) -> list[TopicPartition]:
        """Partitions that have some."""
        return list(self._waiting)

    def add(self, place: TopicPartition, inherited: Inherited) -> None:
        """One more."""
        self._waiting.setdefault(place, {})[inherited.offset] = inherited

    def settle(self, place: TopicPartition) -> None:
        """Look after all of a partition's, unless that is being done."""
        if place in self._waiting and place not in self._rounds:
            work = self._settled(place, self._waiting[place])
            self._rounds[place] = asyncio.create_task(work, name=f"what is inherited of {place}")

    async def _settled(self, place: TopicPartition, waiting: dict[int, Inherited]) -> None:
        left = dict(waiting)

        def decide(each: Inherited, fate: Fate, answer: Answer | None, text: str) -> None:
            left.pop(each.offset, None)
            waiting.pop(each.offset, None)
            self._decided(place, each, fate, answer, text)

        try:
            await until_available(lambda: self._look(decide).settle([*left.values()]), self._patience_s)
        except Exception as problem:  # noqa: BLE001 -- whatever it is ends the process, and is said there
            self._fail(problem)
            return
        self._rounds.pop(place, None)
        if not waiting:
            self._waiting.pop(place, None)

    async def let_go(self, place: TopicPartition) -> None:
        """The partition is another's."""
        self._waiting.pop(place, None)
        await _cancelled([found] if (found := self._rounds.pop(place, None)) else [])

    async def close(self) -> None:
        """Look after none any more."""
        await _cancelled([*self._rounds.values()])


async def _cancelled(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
