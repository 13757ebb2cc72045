"""Workers that have lost their partition and do not know it: nothing of what they still do may be seen."""

import asyncio
from typing import Any

import pytest

from tests.support.gate import Gate
from tests.support.rig import Rig, redis_of, rigged, said, words
from tests.support.stage import Stage
from tokenmill.errors import FatalError
from tokenmill.worker.exactly_once import in_transactions

pytestmark = pytest.mark.integration

EXACTLY_ONCE: dict[str, Any] = {"delivery": "exactly-once", "transaction_timeout_ms": 60_000}
"""A transaction that stands open does not time out, however slow the machine is."""


async def _ending(rig: Rig, end: Gate) -> "asyncio.Task[None]":
    """A transaction that holds everything, the offset too, and is about to end."""
    lane = rig.lane()
    end.before(in_transactions(lane).transaction.producer, "commit_transaction")
    ending = asyncio.create_task(rig.commit())
    await end.reached()
    return ending


async def test_a_transaction_that_is_not_over_at_a_takeover_is_never_seen(stage: Stage) -> None:
    """The new owner's producer fences the old one's, as both have one id. It does the same work again, once."""
    end = Gate()
    async with rigged(stage, **EXACTLY_ONCE) as zombie:
        await zombie.live()
        await said(stage, *words("m", "one ", "two "))
        await zombie.parsed(2)
        ending = await _ending(zombie, end)
        await zombie.evict()
        async with rigged(stage, **EXACTLY_ONCE) as owner:
            await owner.live()
            await said(stage, *words("m", "three"))
            await owner.settled(3)
            end.open()
            [outcome] = await asyncio.gather(ending, return_exceptions=True)
            assert await stage.found() == await stage.expected()
            assert isinstance(outcome, FatalError)
            assert owner.failures == []


async def test_offsets_are_read_when_the_owner_before_can_commit_no_more(stage: Stage) -> None:
    """Its last transaction ends just before it is fenced: the new owner begins behind it."""
    end, fence = Gate(), Gate()
    async with rigged(stage, **EXACTLY_ONCE) as before:
        await before.live()
        await said(stage, *words("m", "one ", "two "))
        await before.parsed(2)
        ending = await _ending(before, end)
        await before.evict()
        async with rigged(
            stage, prepare=lambda engine: fence.before(engine.delivery, "take_over"), **EXACTLY_ONCE
        ) as owner:
            await fence.reached()
            end.open()
            await ending
            fence.open()
            await owner.live()
            await said(stage, *words("m", "three"))
            await owner.settled(3)
            assert await stage.found() == await stage.expected()


async def test_changes_that_come_late_do_not_mix_with_the_new_owners_snapshot(stage: Stage) -> None:
    """Between its commit and its snapshot a worker stands still; what it then writes builds on what is no more."""
    late = Gate()
    async with rigged(stage, redis_of(stage)) as zombie:
        await zombie.live()
        await said(stage, *words("first", "1"), *words("second", "1"))
        await zombie.settled(2)
        await zombie.snapshot()
        await said(stage, *words("first", "2"))
        await zombie.settled(3)
        late.before(zombie.engine.store, "write_delta")
        writing = asyncio.create_task(zombie.snapshot())
        await late.reached()
        await zombie.evict()
        async with rigged(stage, redis_of(stage)) as owner:
            await owner.live()
            await said(stage, *words("second", "2", "3"))
            await owner.settled(5)
            await owner.snapshot()
            late.open()
            await writing
            await owner.evict()
        async with rigged(stage, redis_of(stage)) as after:
            await after.live()
            await said(stage, *words("second", "4"), *words("first", "3"))
            await after.settled(7)
    assert await stage.found() == await stage.expected()
    assert (0, "redis", 5) in after.hooks.restores


async def test_a_whole_snapshot_that_comes_late_does_not_replace_a_newer_one(stage: Stage) -> None:
    """What the store has of a partition never gets older."""
    late = Gate()
    async with rigged(stage, redis_of(stage)) as zombie:
        await zombie.live()
        await said(stage, *words("m", "1"))
        await zombie.settled(1)
        late.before(zombie.engine.store, "write_full")
        writing = asyncio.create_task(zombie.snapshot())
        await late.reached()
        await zombie.evict()
        async with rigged(stage, redis_of(stage)) as owner:
            await owner.live()
            await said(stage, *words("m", "2", "3"))
            await owner.settled(3)
            await owner.snapshot()
            newest = await owner.engine.store.head(stage.topics.tokens, 0)
            late.open()
            await writing
            assert await owner.engine.store.head(stage.topics.tokens, 0) == newest


async def test_an_evicted_worker_does_not_move_the_offset_back(stage: Stage) -> None:
    """Its commit is refused, and it forgets its membership; the next one could pass for that of a tool."""
    beat, join = Gate(), Gate()
    async with rigged(stage, session_timeout_ms=2_000) as zombie:
        await zombie.live()
        await said(stage, *words("m", "one ", "two "))
        await zombie.parsed(2)
        await zombie.lane().drained()
        beat.before(zombie.engine.consumer._coordinator, "_do_heartbeat")
        join.before(zombie.engine.consumer._coordinator, "ensure_active_group")
        async with rigged(stage) as owner:
            await owner.live()
            await said(stage, *words("m", "three"))
            await owner.settled(3)
        for _ in range(2):
            await zombie.commit()
        offset, _ = (await stage.committed())[0]
        beat.open()
        join.open()
    assert offset == 3
