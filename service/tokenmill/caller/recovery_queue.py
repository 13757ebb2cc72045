"""Requests of which it is not known how far their answers have come, by partition, each until it has its fate.

Those of one partition are looked after together, from when all of them are there; what comes meanwhile is the next
round's. When partitions are shared out anew, the next owner, which may be us again, has a round of its own; the one
that was under way ends once each of its requests is heard of or taken over (rule 5 of `inheritance`).
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from aiokafka import TopicPartition

from tokenmill.caller.answer import Answer
from tokenmill.caller.inheritance import Decide, Inherited
from tokenmill.kafka.calls import until_available
from tokenmill.observe.caller_table import Fate
from tokenmill.tasks import Tasks


class Looking(Protocol):
    """Looks after requests of one partition, as `Inheritance` does."""

    async def settle(self, inherited: list[Inherited]) -> None:
        """Until each has its fate. Raises `Unavailable`; what has none by then may be settled again."""

    def part(self) -> None:
        """The partition may be another's by now: what is heard of is that one's."""


class _Round:
    """The requests of one partition that are looked after together."""

    def __init__(self, waiting: dict[int, Inherited]) -> None:
        self.waiting = waiting
        self.parted = False
        """Its partition may be another's by now."""
        self._looking: Looking | None = None

    async def settle(self, looking: Looking, left: dict[int, Inherited]) -> None:
        """Try once to find the fates of those that are left."""
        self._looking = looking
        if self.parted:
            looking.part()
        await looking.settle([*left.values()])

    def part(self) -> None:
        """Tell that the partition was let go."""
        self.parted = True
        if self._looking is not None:
            self._looking.part()


Decided: TypeAlias = Callable[[TopicPartition, Inherited, Fate, Answer | None, str], None]
"""Gets each with its partition and what `Decide` gets."""


class RecoveryQueue:
    """Requests of some partitions, and who looks after them.

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
        self._rounds: dict[TopicPartition, _Round] = {}
        self._tasks = Tasks()
        """Of all rounds, also of those whose partition was let go."""

    @property
    def count(self) -> int:
        """How many requests have no fate yet."""
        return sum(map(len, self._waiting.values()))

    @property
    def places(self) -> list[TopicPartition]:
        """Partitions that have requests without a fate."""
        return list(self._waiting)

    def add(self, place: TopicPartition, inherited: Inherited) -> None:
        """Add a request that has no fate yet."""
        self._waiting.setdefault(place, {})[inherited.offset] = inherited

    def settle(self, place: TopicPartition) -> None:
        """Look after all of a partition's requests, unless that is being done."""
        if place in self._waiting and place not in self._rounds:
            found = self._rounds[place] = _Round(self._waiting[place])
            self._tasks.begin(self._settled(place, found), f"what is inherited of {place}")

    async def _settled(self, place: TopicPartition, found: _Round) -> None:
        left = dict(found.waiting)

        def decide(each: Inherited, fate: Fate, answer: Answer | None, text: str) -> None:
            left.pop(each.offset, None)
            found.waiting.pop(each.offset, None)
            self._decided(place, each, fate, answer, text)

        try:
            await until_available(lambda: found.settle(self._look(decide), left), self._patience_s)
        except Exception as problem:  # noqa: BLE001 -- whatever it is ends the process, and is said there
            self._fail(problem)
            return
        if found.parted:
            return
        self._rounds.pop(place, None)
        if not found.waiting:
            self._waiting.pop(place, None)

    def let_go(self, place: TopicPartition) -> None:
        """The partition is shared out anew: whoever gets it looks after what is there, by `add`."""
        self._waiting.pop(place, None)
        if (found := self._rounds.pop(place, None)) is not None:
            found.part()

    async def close(self) -> None:
        """Look after no request any more."""
        await self._tasks.close()
