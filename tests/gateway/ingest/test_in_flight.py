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


async def waiting(room: ByteBudget, size: int) -> "asyncio.Task[Any]":
    """Somebody who stands in line."""
    task = asyncio.create_task(room.take(size))
    await asyncio.sleep(0)
    return task


async def test_who_finds_no_room_waits_until_some_is_given_back() -> None:
    """Nothing is taken over the cap."""
    room = ByteBudget(10)
    await room.take(7)
    second = await waiting(room, 4)
    assert (second.done(), room.taken) == (False, 7)
    room.give(7)
    await second
    assert room.taken == 4


async def test_a_small_one_does_not_overtake_a_large_one() -> None:
    """Else a large record would never get its turn in a busy process."""
    room = ByteBudget(10)
    await room.take(7)
    large, small = await waiting(room, 9), await waiting(room, 1)
    assert not small.done()
    room.give(7)
    await asyncio.gather(large, small)
    assert room.taken == 10


async def test_what_need_not_wait_is_taken_at_once() -> None:
    """But never in front of somebody who waits."""
    room = ByteBudget(10)
    assert room.try_take(7)
    large = await waiting(room, 9)
    assert not room.try_take(1)
    room.give(7)
    await large
    assert (room.try_take(1), room.try_take(1)) == (True, False)


async def test_what_is_larger_than_the_cap_goes_alone() -> None:
    """A record that is allowed must not wait for ever."""
    room = ByteBudget(10)
    await room.take(1)
    huge = await waiting(room, 50)
    assert not huge.done()
    room.give(1)
    await huge
    assert room.taken == 50


@pytest.mark.parametrize("given", [False, True])
async def test_whoever_leaves_the_line_takes_nothing_along(given: bool) -> None:
    """Before its turn, or in the very moment in which it came; who stands behind moves up."""
    room = ByteBudget(10)
    await room.take(10)
    first, second = await waiting(room, 10), await waiting(room, 3)
    if given:
        room.give(10)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    if not given:
        room.give(10)
    await second
    assert room.taken == 3


async def test_whoever_has_left_without_knowing_it_yet_takes_nothing_along() -> None:
    """Bytes come back when its wait is over, and before it has heard of that: who stands behind gets them."""
    room = ByteBudget(10)
    await room.take(10)
    first, second = await waiting(room, 10), await waiting(room, 3)
    first.cancel()
    room.give(10)
    with pytest.raises(asyncio.CancelledError):
        await first
    await second
    assert room.taken == 3
    room.give(3)
    assert room.try_take(10)


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
