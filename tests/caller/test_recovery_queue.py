"""Requests of which it is not known how far their answers have come: who looks after them, and for how long."""

import asyncio

import pytest
from aiokafka import TopicPartition

from tests.support.answering import request
from tests.support.stage import until
from tokenmill.caller.answer import Answer
from tokenmill.caller.inheritance import Decide, ReceivedRequest
from tokenmill.caller.recovery_queue import RecoveryQueue
from tokenmill.errors import Unavailable
from tokenmill.observe.caller_table import Fate

HERE, THERE = TopicPartition("requests", 0), TopicPartition("requests", 1)


class Round:
    """Decides as it is told to."""

    def __init__(self, decide: Decide, problems: list[Exception]) -> None:
        self._decide = decide
        self._problems = problems
        self.asked: list[list[int]] = []
        """Offsets, at each try."""
        self._all: dict[int, ReceivedRequest] = {}
        self._over = asyncio.Event()
        self.ended = False
        self.parted = False

    async def settle(self, inherited: list[ReceivedRequest]) -> None:
        self.asked.append([each.offset for each in inherited])
        self._all = {each.offset: each for each in inherited}
        if self._problems:
            raise self._problems.pop(0)
        try:
            await self._over.wait()
        finally:
            self.ended = True

    def part(self) -> None:
        self.parted = True

    def heard_of_all(self) -> None:
        """Those that are left are their owner's."""
        self._over.set()

    def decide(self, offset: int) -> None:
        """That one is over."""
        self._decide(self._all.pop(offset), "over", None, "")
        if not self._all:
            self._over.set()


class Scene:
    """Rounds in the order in which they began."""

    def __init__(self, patience_s: float = 60.0) -> None:
        self.rounds: list[Round] = []
        self.problems: list[Exception] = []
        """Raised by those that begin, each once."""
        self.fates: list[tuple[int, int, Fate]] = []
        self.failures: list[Exception] = []
        self.settling = RecoveryQueue(self._look, self._decided, patience_s, self.failures.append)

    def _look(self, decide: Decide) -> Round:
        self.rounds.append(Round(decide, self.problems))
        return self.rounds[-1]

    def _decided(
        self, place: TopicPartition, each: ReceivedRequest, fate: Fate, _answer: Answer | None, _text: str
    ) -> None:
        self.fates.append((place.partition, each.offset, fate))

    def add(self, *offsets: int, place: TopicPartition = HERE) -> None:
        """Some of a partition."""
        for offset in offsets:
            self.settling.add(place, ReceivedRequest("c", request(message_id=f"m{offset}"), offset, 0))

    async def begun(self, count: int) -> Round:
        """The newest of so many rounds, once it is at work."""

        def at_work() -> bool:
            return len(self.rounds) == count and bool(self.rounds[-1].asked)

        await until(at_work, "a round has begun")
        return self.rounds[-1]


async def test_all_of_a_partition_are_looked_after_together() -> None:
    """Each until it has its fate; then nothing is left of the partition."""
    now = Scene()
    now.add(3, 5)
    assert (now.settling.count, now.settling.places, now.rounds) == (2, [HERE], [])
    now.settling.settle(HERE)
    now.settling.settle(HERE)
    now.settling.settle(THERE)
    first = await now.begun(1)
    first.decide(5)
    assert (now.settling.count, now.fates) == (1, [(0, 5, "over")])
    first.decide(3)
    await until(lambda: not now.settling.places, "all are settled")
    assert (first.asked, now.settling.count, len(now.rounds)) == ([[3, 5]], 0, 1)


async def test_what_comes_meanwhile_is_the_next_round_s() -> None:
    """It is not forgotten when the first one ends."""
    now = Scene()
    now.add(3)
    now.settling.settle(HERE)
    first = await now.begun(1)
    now.add(7)
    now.settling.settle(HERE)
    first.decide(3)
    await until(lambda: first.ended, "the first round is over")
    assert now.settling.count == 1
    await asyncio.sleep(0)
    now.settling.settle(HERE)
    second = await now.begun(2)
    second.decide(7)
    await until(lambda: not now.settling.places, "all are settled")
    assert (second.asked, now.fates) == ([[7]], [(0, 3, "over"), (0, 7, "over")])


async def test_a_kafka_that_is_away_is_asked_again() -> None:
    """For what has no fate yet."""
    now = Scene()
    now.problems = [Unavailable("Kafka does not answer")]
    now.add(3)
    now.settling.settle(HERE)
    await until(lambda: len(now.rounds) == 2, "it is tried again", 20)
    (await now.begun(2)).decide(3)
    await until(lambda: not now.settling.places, "all are settled")
    assert now.failures == []


async def test_what_has_its_fate_is_not_settled_again_where_reading_fails_then() -> None:
    """It would be begun twice."""
    now = Scene()
    now.add(3, 5)
    settle = Round.settle

    async def one_alone(self: Round, inherited: list[ReceivedRequest]) -> None:
        if len(now.rounds) > 1:
            return await settle(self, inherited)
        self._decide(inherited[0], "over", None, "")
        raise Unavailable("Kafka does not answer")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Round, "settle", one_alone)
        now.settling.settle(HERE)
        assert (await now.begun(2)).asked == [[5]]
    await now.settling.close()


async def test_whatever_else_goes_wrong_is_told() -> None:
    """Going on would commit what nobody looks after."""
    now = Scene()
    now.problems = [problem := ValueError("what nobody foresaw")]
    now.add(3)
    now.settling.settle(HERE)
    await until(lambda: now.failures, "it is told")
    now.settling.settle(HERE)
    assert (now.failures, now.settling.count, len(now.rounds)) == ([problem], 1, 1)
    patient = Scene(patience_s=0)
    patient.problems = [Unavailable("Kafka does not answer")]
    patient.add(3)
    patient.settling.settle(HERE)
    await until(lambda: patient.failures, "patience has an end")


async def test_a_partition_that_is_let_go_is_another_s() -> None:
    """Which may be us again, by a round of its own: the one before listens on, until it has heard of all."""
    now = Scene()
    now.add(3, 5)
    now.add(4, place=THERE)
    now.settling.settle(HERE)
    here = await now.begun(1)
    now.settling.settle(THERE)
    there = await now.begun(2)
    now.settling.let_go(HERE)
    now.settling.let_go(HERE)
    assert (here.parted, here.ended, there.parted) == (True, False, False)
    assert (now.settling.count, now.settling.places) == (1, [THERE])
    now.add(3, 5)
    now.settling.settle(HERE)
    anew = await now.begun(3)
    assert (anew.asked, anew.parted) == ([[3, 5]], False)
    here.decide(3)
    here.heard_of_all()
    await until(lambda: here.ended, "the round before is over")
    await asyncio.sleep(0)
    now.settling.settle(HERE)  # which has its round
    await asyncio.sleep(0)
    assert (now.fates, now.settling.count, anew.ended, len(now.rounds)) == ([(0, 3, "over")], 3, False, 3)
    await now.settling.close()
    assert (anew.ended, there.ended, now.fates) == (True, True, [(0, 3, "over")])


async def test_a_partition_may_be_let_go_before_its_round_begins() -> None:
    """The round is told as soon as it does."""
    now = Scene()
    now.add(3)
    now.settling.settle(HERE)
    now.settling.let_go(HERE)
    assert (await now.begun(1)).parted
    await now.settling.close()


async def test_a_round_that_begins_again_is_told_that_its_partition_was_let_go() -> None:
    """As reading failed; it ends with the process, as all do."""
    now = Scene()
    now.problems = [Unavailable("Kafka does not answer")]
    now.add(3)
    now.settling.settle(HERE)
    await now.begun(1)
    now.settling.let_go(HERE)
    again = await now.begun(2)
    assert again.parted
    await now.settling.close()
    assert (again.ended, now.failures) == (True, [])
