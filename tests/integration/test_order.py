"""The order of a cycle's steps: outputs, then the offset, then the snapshot, each held up in front of the next."""

import asyncio

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import MessageSizeTooLargeError

from tests.support.gate import Gate
from tests.support.rig import redis_of, rigged, said, words
from tests.support.stage import Stage, until, without_repeats
from tests.support.topics import make_topics
from tokenmill.errors import FatalError

pytestmark = pytest.mark.integration

SMALL, USUAL = 200, 1 << 20
"""Bytes that a topic takes in one record batch."""


async def test_no_offset_is_committed_before_its_outputs_are_acknowledged(stage: Stage) -> None:
    """A worker that is gone while its outputs are on their way leaves them to the next one."""
    sending = Gate()
    async with rigged(stage) as lost:
        await lost.live()
        await lost.commit()
        sending.before(lost.engine.producer, "send_batch")
        await said(stage, *words("m", "one ", "two "))
        await lost.parsed(2)
        await sending.reached()
        await lost.commit()
        await lost.evict()
    async with rigged(stage) as owner:
        await owner.live()
        await owner.settled(2)
    assert await stage.found() == await stage.expected()


async def _takes_no_more_than(stage: Stage, size: int) -> None:
    """The topic of events refuses larger batches from now on; the broker learns of changes in their order."""
    probe = f"probe-{stage.group}"
    await make_topics(stage.bootstrap, probe)
    for topic in (stage.topics.events, probe):
        await stage.raise_limit(topic, size)
    async with AIOKafkaProducer(bootstrap_servers=stage.bootstrap) as producer:

        async def refused() -> bool:
            try:
                await producer.send_and_wait(probe, b"x" * size)
            except MessageSizeTooLargeError:
                return True
            return False

        await until(refused, "the broker has the new limit")


async def test_no_transaction_is_committed_without_one_of_its_outputs(stage: Stage) -> None:
    """The client would commit the offset though the broker refused the events; the next owner publishes them."""
    async with rigged(stage, delivery="exactly-once", transaction_timeout_ms=4_000) as failing:
        await failing.live()
        await _takes_no_more_than(stage, SMALL)
        await said(stage, *words("m", "one ", "two " * SMALL))
        await failing.parsed(2)
        await failing.commit()
        await failing.evict()
    await stage.raise_limit(stage.topics.events, USUAL)
    async with rigged(stage, delivery="exactly-once") as owner:
        await owner.live()
        await owner.settled(2)
    assert await stage.found() == await stage.expected()
    assert isinstance(failing.failures[0], FatalError)
    assert "no longer accepts" in str(failing.failures[0])


async def test_no_snapshot_is_written_before_its_offset_is_committed(stage: Stage) -> None:
    """A worker that is gone in front of a commit leaves a snapshot that leads to the commit before, not beyond it."""
    committing = Gate()
    async with rigged(stage, redis_of(stage)) as lost:
        await lost.live()
        await said(stage, *words("m", "one "))
        await lost.settled(1)
        await lost.snapshot()
        await said(stage, *words("m", "two "))
        await lost.parsed(2)
        await lost.lane().drained()
        committing.before(lost.engine.consumer, "commit")
        lost.lane().snapshots.due = 0
        under_way = asyncio.create_task(lost.commit())
        await committing.reached()
        written = lost.engine.writer._queue
        while not written.empty():
            await lost.engine.writer.write(written.get_nowait())
        under_way.cancel()
        await lost.evict()
    async with rigged(stage, redis_of(stage)) as owner:
        await owner.live()
        assert (0, "redis", 1) in owner.hooks.restores
        await owner.settled(2)
    found, expected = await stage.found(), await stage.expected()
    assert {place: without_repeats(contents) for place, contents in found.items()} == expected
