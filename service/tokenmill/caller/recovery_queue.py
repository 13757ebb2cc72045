"""Queues requests whose answers may be running elsewhere, by partition, until the fate of each is known.

The requests of one partition are settled in rounds: those that come during a round are settled in the next one. After a
rebalance, the next owner, which may be this caller again, has a round of its own; the earlier round ends once each of
its answers is heard of or taken over (rule 6 of `inheritance`).
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from aiokafka import TopicPartition

from tokenmill.caller.answer import Answer
from tokenmill.caller.inheritance import Decide, ReceivedRequest
from tokenmill.kafka.calls import until_available
from tokenmill.observe.caller_table import Fate
from tokenmill.tasks import Tasks


class Looking(Protocol):
    """Finds the fates of one partition's requests, as `Inheritance` does."""

    async def settle(self, inherited: list[ReceivedRequest]) -> None:
        """Wait until each request has its fate. Raises `Unavailable`; the others may then be settled again."""

    def part(self) -> None:
        """Note that the partition is no longer ours: answers that are heard of are left to its next owner."""


class _Round:
    """The requests of one partition that are settled together."""

    def __init__(self, waiting: dict[int, ReceivedRequest]) -> None:
        self.waiting = waiting
        """Requests without a fate, by offset."""
        self.parted = False
        """Whether the partition is no longer ours."""
        self._looking: Looking | None = None

    async def settle(self, looking: Looking, left: dict[int, ReceivedRequest]) -> None:
        """Try once to find the fates of the requests in `left`. Raises `Unavailable`."""
        self._looking = looking
        if self.parted:
            looking.part()
        await looking.settle([*left.values()])

    def part(self) -> None:
        """Note that the partition is no longer ours."""
        self.parted = True
        if self._looking is not None:
            self._looking.part()


Decided: TypeAlias = Callable[[TopicPartition, ReceivedRequest, Fate, Answer | None, str], None]
"""Takes a request's partition, and the arguments of `Decide`."""


class RecoveryQueue:
    """The requests of some partitions that have no fate yet, and the rounds that settle them.

    Args:
        look: makes a `Looking`, which reports fates to its argument.
        decided: called with each fate.
        patience_s: seconds for which Kafka may be unavailable.
        fail: called with the error that ends a round before all of its requests have fates.
    """

    def __init__(
        self, look: Callable[[Decide], Looking], decided: Decided, patience_s: float, fail: Callable[[Exception], None]
    ) -> None:
        self._look = look
        self._decided = decided
        self._patience_s = patience_s
        self._fail = fail
        self._waiting: dict[TopicPartition, dict[int, ReceivedRequest]] = {}
        """Requests without a fate, by partition and offset."""
        self._rounds: dict[TopicPartition, _Round] = {}
        self._tasks = Tasks()
        """The tasks of all rounds, also for partitions that are no longer ours."""

    @property
    def count(self) -> int:
        """Number of requests that have no fate yet."""
        return sum(map(len, self._waiting.values()))

    @property
    def places(self) -> list[TopicPartition]:
        """Partitions that have requests without a fate."""
        return list(self._waiting)

    def add(self, place: TopicPartition, inherited: ReceivedRequest) -> None:
        """Add a request that has no fate yet."""
        self._waiting.setdefault(place, {})[inherited.offset] = inherited

    def settle(self, place: TopicPartition) -> None:
        """Begin a round for all of a partition's requests, unless one is running."""
        if place in self._waiting and place not in self._rounds:
            found = self._rounds[place] = _Round(self._waiting[place])
            self._tasks.begin(self._run_round(place, found), f"the inherited requests of {place}")

    async def _run_round(self, place: TopicPartition, found: _Round) -> None:
        left = dict(found.waiting)

        def decide(each: ReceivedRequest, fate: Fate, answer: Answer | None, text: str) -> None:
            left.pop(each.offset, None)
            found.waiting.pop(each.offset, None)
            self._decided(place, each, fate, answer, text)

        try:
            await until_available(lambda: found.settle(self._look(decide), left), self._patience_s)
        except Exception as problem:  # noqa: BLE001 -- any error ends the process, which reports it
            self._fail(problem)
            return
        if found.parted:
            return
        self._rounds.pop(place, None)
        if not found.waiting:
            self._waiting.pop(place, None)

    def let_go(self, place: TopicPartition) -> None:
        """Drop a partition's requests after a rebalance: its next owner reads them again, and queues them."""
        self._waiting.pop(place, None)
        if (found := self._rounds.pop(place, None)) is not None:
            found.part()

    async def close(self) -> None:
        """Cancel all rounds."""
        await self._tasks.close()
