"""Partitions that do not answer."""

import asyncio

import pytest

from tests.support.pipes import soon
from tokenmill.errors import Unavailable
from tokenmill.gateway.event_log import unresponsive as module
from tokenmill.gateway.event_log.unresponsive import AGAIN_S, UnresponsivePartitions


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which a test moves on."""
    now = [100.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    return now


async def fails(silent: UnresponsivePartitions, partition: int, problem: BaseException) -> None:
    async def question() -> None:
        async with silent.asked(partition) as asked:
            with asked:
                raise problem

    with pytest.raises(type(problem)):
        await question()


async def ask(
    silent: UnresponsivePartitions, partition: int, asked: list[int], answers: "asyncio.Future[bool]"
) -> None:
    """A question, which is noted when it is asked, and answered or not."""
    async with silent.asked(partition) as question:
        with question:
            asked.append(partition)
            if not await answers:
                raise Unavailable("no answer")


async def test_a_partition_that_did_not_answer_is_refused_for_a_while(now: list[float]) -> None:
    """And no other; who is refused does not make it longer."""
    silent = UnresponsivePartitions(1)
    await fails(silent, 3, Unavailable("no answer"))
    silent.check(4)
    now[0] += AGAIN_S / 2
    await fails(silent, 3, Unavailable("does not answer"))
    now[0] += AGAIN_S / 2
    silent.check(3)


@pytest.mark.parametrize("answers", [True, False])
async def test_one_finds_out_for_all_whether_it_answers_again(now: list[float], answers: bool) -> None:
    """The others wait, and are refused only if it does not."""
    silent, asked = UnresponsivePartitions(2), list[int]()
    await fails(silent, 3, Unavailable("no answer"))
    now[0] += AGAIN_S
    answer = asyncio.get_running_loop().create_future()
    asking = [asyncio.create_task(ask(silent, 3, asked, answer)) for _ in range(3)]
    await soon()
    assert asked == [3]
    answer.set_result(answers)
    refused = [type(each) for each in await asyncio.gather(*asking, return_exceptions=True) if each is not None]
    assert (asked, refused) == (([3] * 3, []) if answers else ([3], [Unavailable] * 3))


async def test_few_of_many_are_tried_at_once(now: list[float]) -> None:
    """Those that answer are asked as ever, however many do not."""
    silent, asked = UnresponsivePartitions(2), list[int]()
    for partition in range(4):
        await fails(silent, partition, Unavailable("no answer"))
    now[0] += AGAIN_S
    answer = asyncio.get_running_loop().create_future()
    asking = [asyncio.create_task(ask(silent, partition, asked, answer)) for partition in (0, 1, 2, 3, 7)]
    await soon()
    assert sorted(asked) == [0, 1, 7]
    answer.set_result(True)
    await asyncio.gather(*asking)
    assert sorted(asked) == [0, 1, 2, 3, 7]


async def test_who_leaves_says_nothing_of_a_partition(now: list[float]) -> None:
    """The next one finds out."""
    silent = UnresponsivePartitions(1)
    await fails(silent, 3, asyncio.CancelledError())
    silent.check(3)
    await fails(silent, 3, Unavailable("no answer"))
    now[0] += AGAIN_S
    await fails(silent, 3, asyncio.CancelledError())
    async with silent.asked(3) as asked:
        with asked:
            pass
    async with silent.asked(3), silent.asked(3):
        pass


async def test_what_goes_wrong_before_a_partition_is_asked_says_nothing_of_it() -> None:
    """As where no reader can be connected at all."""
    silent = UnresponsivePartitions(1)
    with pytest.raises(Unavailable):
        async with silent.asked(3):
            raise Unavailable("connect a reader")
    silent.check(3)
