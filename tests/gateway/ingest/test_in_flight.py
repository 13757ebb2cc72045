"""A record on its way has an outcome or a deadline, and what is said of a failure tells what to do next."""

import asyncio
from typing import Any

import pytest

from tokenmill.gateway.ingest.in_flight import (
    ByteBudget,
    InFlightRecord,
    WrittenAt,
    refused,
    too_many,
    unavailable,
)
from tokenmill.gateway.problems import TOO_LARGE, Refused


async def waiting(budget: ByteBudget, size: int) -> "asyncio.Task[Any]":
    """Somebody who stands in line."""
    task = asyncio.create_task(budget.take(size))
    await asyncio.sleep(0)
    return task


async def test_who_finds_no_room_waits_until_some_is_given_back() -> None:
    """Nothing is taken over the cap, also when some comes back that is not enough."""
    budget = ByteBudget(10)
    await budget.take(7)
    second = await waiting(budget, 6)
    assert (second.done(), budget.taken) == (False, 7)
    budget.give(2)
    assert budget.taken == 5
    budget.give(1)
    await second
    assert budget.taken == 10


async def test_a_small_one_does_not_overtake_a_large_one() -> None:
    """Else a large record would never get its turn in a busy process."""
    budget = ByteBudget(10)
    await budget.take(7)
    large, small = await waiting(budget, 9), await waiting(budget, 1)
    assert not small.done()
    budget.give(7)
    await asyncio.gather(large, small)
    assert budget.taken == 10


async def test_what_need_not_wait_is_taken_at_once() -> None:
    """But never in front of somebody who waits."""
    budget = ByteBudget(10)
    assert budget.try_take(7)
    large = await waiting(budget, 9)
    assert not budget.try_take(1)
    budget.give(7)
    await large
    assert (budget.try_take(1), budget.try_take(1)) == (True, False)


async def test_what_is_larger_than_the_cap_goes_alone() -> None:
    """A record that is allowed must not wait for ever."""
    budget = ByteBudget(10)
    await budget.take(1)
    huge = await waiting(budget, 50)
    assert not huge.done()
    budget.give(1)
    await huge
    assert budget.taken == 50


async def test_behind_a_large_one_that_leaves_a_small_one_has_room() -> None:
    """At once: nothing need be given back before."""
    budget = ByteBudget(10)
    await budget.take(7)
    large, small = await waiting(budget, 9), await waiting(budget, 3)
    large.cancel()
    await asyncio.wait([large, small], timeout=5)
    assert (small.done(), budget.taken) == (True, 10)


@pytest.mark.parametrize("given", [False, True])
async def test_whoever_leaves_the_line_takes_nothing_along(given: bool) -> None:
    """Before its turn, or in the very moment in which it came; who stands behind moves up."""
    budget = ByteBudget(10)
    await budget.take(10)
    first, second = await waiting(budget, 10), await waiting(budget, 3)
    if given:
        budget.give(10)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    if not given:
        budget.give(10)
    await second
    assert budget.taken == 3


async def test_whoever_has_left_without_knowing_it_yet_takes_nothing_along() -> None:
    """Bytes come back when its wait is over, and before it has heard of that: who stands behind gets them."""
    budget = ByteBudget(10)
    await budget.take(10)
    first, second = await waiting(budget, 10), await waiting(budget, 3)
    first.cancel()
    budget.give(10)
    with pytest.raises(asyncio.CancelledError):
        await first
    await second
    assert budget.taken == 3
    budget.give(3)
    assert budget.try_take(10)


async def test_a_record_is_where_kafka_says() -> None:
    """Whoever asks before the answer waits for it."""
    sent = InFlightRecord(ByteBudget(10), 1, 5)
    asking = asyncio.create_task(sent.placed())
    await asyncio.sleep(0)
    sent.settle(WrittenAt(3, 42))
    assert await asking == (3, 42)


async def test_a_refusal_is_raised_for_whoever_asks() -> None:
    """And for nobody else: a future that fails unseen would be reported as a mistake."""
    sent = InFlightRecord(ByteBudget(10), 1, 5)
    sent.settle(Refused(TOO_LARGE, "shorter"))
    with pytest.raises(Refused, match="shorter"):
        await sent.placed()


async def test_nobody_waits_longer_than_the_deadline_of_the_record() -> None:
    """The deadline counts from when it was sent, not from when somebody asks."""
    sent = InFlightRecord(ByteBudget(10), 1, 0.01)
    with pytest.raises(Refused, match=r"within 0\.01 s.*same `seq`"):
        await sent.placed()
    assert not sent.settled


@pytest.mark.parametrize(
    ("problem", "status"), [(too_many(), 429), (refused(KeyError("x")), 503), (unavailable("Kafka: no leader"), 503)]
)
def test_what_may_be_tried_again_says_when(problem: Refused, status: int) -> None:
    """Seconds in `Retry-After`, which every client library understands."""
    assert (problem.kind.status, int(problem.headers["retry-after"]) > 0) == (status, True)
