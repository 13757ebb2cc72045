"""State that is had again comes out as if it had never been away, wherever it comes from; nothing is said twice."""

import msgspec
import pytest
import redis
from aiokafka import AIOKafkaProducer

from tests.support.gate import Gate
from tests.support.rig import redis_of, rigged, said, words
from tests.support.stage import Stage, until
from tests.support.topics import make_topics
from tokenmill.servers import RedisServer

pytestmark = pytest.mark.integration

READS = 5
"""Of which each waits for a fetch; one would do if nothing held the records back."""


def _flush(server: RedisServer) -> None:
    with redis.Redis(port=server.port) as client:
        client.flushall()


async def _ends_at(stage: Stage, offset: int) -> bool:
    return (await stage.ends())[0] == offset


async def test_a_replay_publishes_nothing_and_gives_the_state(fragile: Stage, redis_server: RedisServer) -> None:
    """Without a snapshot, from the low-water mark: neither events nor dead letters come again, and the message goes on.

    It begins there and not at the commit, else the message would open again.
    """
    async with rigged(fragile, redis_of(fragile), delivery="exactly-once") as before:
        await before.live()
        await said(fragile, *words("m", "one "), b"{", *words("m", "two "))
        await before.settled(3)
        await before.snapshot()
        await before.evict()
    _flush(redis_server)
    async with rigged(fragile, redis_of(fragile), delivery="exactly-once") as owner:
        await owner.live()
        await said(fragile, *words("m", "three"), {"message_id": "m", "end": True})
        await owner.settled(5)
    assert await fragile.found() == await fragile.expected()
    assert (0, "replay", 3) in owner.hooks.restores


async def test_nothing_is_read_before_the_state_is_there(stage: Stage) -> None:
    """New records wait between assignment and restore, however long that takes; then they come behind the replay."""
    loading = Gate()
    async with rigged(stage) as before:
        await before.live()
        await said(stage, *words("m", "one ", "two "))
        await before.settled(2)
        await before.evict()
    await said(stage, *words("m", "three ", "four"))
    async with rigged(stage, prepare=lambda engine: loading.before(engine.store, "load")) as owner:
        await loading.reached()
        early = [await owner.turn() for _ in range(READS)]
        loading.open()
        await owner.live()
        await owner.settled(4)
    assert early == [0] * READS
    assert await stage.found() == await stage.expected()


async def test_changes_are_not_applied_to_a_store_that_was_emptied(fragile: Stage, redis_server: RedisServer) -> None:
    """FLUSHALL between two snapshots: the next one is whole, not only what has changed since."""
    async with rigged(fragile, redis_of(fragile)) as before:
        await before.live()
        await said(fragile, *words("m", "one "))
        await before.settled(1)
        await before.snapshot()
        _flush(redis_server)
        for offset in (2, 3):
            await said(fragile, b"{")  # changes no message
            await before.settled(offset)
            await before.snapshot()
        await before.evict()
    async with rigged(fragile, redis_of(fragile)) as owner:
        await owner.live()
        await said(fragile, *words("m", "two"))
        await owner.settled(4)
    assert await fragile.found() == await fragile.expected()
    assert (0, "redis", 3) in owner.hooks.restores


async def test_a_snapshot_ahead_of_the_commit_is_not_believed(stage: Stage) -> None:
    """The broker lost a commit, or the store is older than the group: what is not committed is published."""
    sending = Gate()
    async with rigged(stage, redis_of(stage)) as before:
        await before.live()
        await said(stage, *words("m", "one "))
        await before.settled(1)
        sending.before(before.engine.producer, "send_batch")
        await said(stage, *words("m", "two ", "three "))
        await before.parsed(3)
        await before.snapshot()
        await before.evict()
    async with rigged(stage, redis_of(stage)) as owner:
        await owner.live()
        await owner.settled(3)
    assert await stage.found() == await stage.expected()


async def test_what_a_dialect_remembers_is_in_the_snapshot(stage: Stage) -> None:
    """A whole answer is made of what came before the takeover and after it."""
    stage.topics = msgspec.structs.replace(stage.topics, completions=f"completions-{stage.group}")
    await make_topics(stage.bootstrap, stage.topics.completions, partitions=stage.partitions)
    async with rigged(stage, redis_of(stage)) as before:
        await before.live()
        await said(stage, *words("m", "one "))
        await before.settled(1)
        await before.snapshot()
        await before.evict()
    async with rigged(stage, redis_of(stage)) as owner:
        await owner.live()
        await said(stage, *words("m", "two"), {"message_id": "m", "end": True})
        await owner.settled(3)
    assert await stage.found() == await stage.expected()
    assert (0, "redis", 1) in owner.hooks.restores


async def test_input_of_a_transaction_that_was_aborted_is_not_read(stage: Stage) -> None:
    """Its producer sends it again, and else it would be there twice."""
    name = f"input-{stage.group}"
    async with (
        rigged(stage) as rig,
        AIOKafkaProducer(bootstrap_servers=stage.bootstrap, transactional_id=name) as producer,
    ):
        await rig.live()
        await producer.begin_transaction()
        await producer.send_and_wait(stage.topics.tokens, b'{"message_id": "m", "delta": "one "}', b"c", 0)
        await producer.abort_transaction()
        await until(lambda: _ends_at(stage, 2), "the mark of the abort is written, which comes after the answer")
        await said(stage, *words("m", "one "))
        await rig.settled(3)
    assert await stage.found() == await stage.expected()
