"""Bytes are given out under a cap, first come, first served, and come back whoever leaves."""

import asyncio
from typing import Any

import pytest

from tokenmill.gateway.room import Room


async def waiting(room: Room, size: int) -> "asyncio.Task[Any]":
    """Somebody who stands in line."""
    task = asyncio.create_task(room.take(size))
    await asyncio.sleep(0)
    return task


async def test_who_finds_no_room_waits_until_some_is_given_back() -> None:
    """Nothing is taken over the cap."""
    room = Room(10)
    await room.take(7)
    second = await waiting(room, 4)
    assert (second.done(), room.taken) == (False, 7)
    room.give(7)
    await second
    assert room.taken == 4


async def test_a_small_one_does_not_overtake_a_large_one() -> None:
    """Else a large record would never get its turn in a busy process."""
    room = Room(10)
    await room.take(7)
    large, small = await waiting(room, 9), await waiting(room, 1)
    assert not small.done()
    room.give(7)
    await asyncio.gather(large, small)
    assert room.taken == 10


async def test_what_need_not_wait_is_taken_at_once() -> None:
    """But never in front of somebody who waits."""
    room = Room(10)
    assert room.try_take(7)
    large = await waiting(room, 9)
    assert not room.try_take(1)
    room.give(7)
    await large
    assert (room.try_take(1), room.try_take(1)) == (True, False)


async def test_what_is_larger_than_the_cap_goes_alone() -> None:
    """A record that is allowed must not wait for ever."""
    room = Room(10)
    await room.take(1)
    huge = await waiting(room, 50)
    assert not huge.done()
    room.give(1)
    await huge
    assert room.taken == 50


@pytest.mark.parametrize("given", [False, True])
async def test_whoever_leaves_the_line_takes_nothing_along(given: bool) -> None:
    """Before its turn, or in the very moment in which it came; who stands behind moves up."""
    room = Room(10)
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
    room = Room(10)
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
