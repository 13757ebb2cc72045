"""What a restore would do, tried on what a worker left behind."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import redis

from tests.support.away import goes_away_while_read
from tests.support.group_tool import reset_offsets
from tests.support.rig import configuration
from tests.support.stage import Stage, until
from tokenmill.config import Config, ParserSection
from tokenmill.errors import FatalError, Unavailable
from tokenmill.kafka.topic_log import cluster_id
from tokenmill.servers import RedisServer
from tokenmill.store import RedisStore
from tokenmill.worker.recover import Recovery, recoveries, sentences


async def _left_behind(stage: Stage, records: int = 10) -> None:
    """Partition 0 with a message that is open and committed, and a snapshot of all of it; the worker is gone."""
    worker = await stage.start()
    for seq in range(records):
        await stage.send("c", {"message_id": "m", "seq": seq, "delta": "x"}, partition=0)
    await until(stage.caught_up, "everything is committed")
    await asyncio.to_thread(worker.stop)


async def _store(stage: Stage, server: RedisServer) -> RedisStore:
    cluster = await cluster_id(configuration(stage).kafka)
    prefix = stage.settings["redis"]["key_prefix"]
    return RedisStore(server.url, group=stage.group, cluster=cluster, prefix=prefix, timeout=5)


async def _recovery(stage: Stage, server: RedisServer, config: Config | None = None) -> Recovery:
    store = await _store(stage, server)
    try:
        [found] = await recoveries(config or configuration(stage), store, 0)
        return found
    finally:
        await store.close()


@pytest.fixture
async def wiped(tmp_path: Path, kafka: str, redis_server: RedisServer, unique: str) -> AsyncIterator[Stage]:
    """Topics of the test's own, and a Redis to wipe."""
    async with Stage(tmp_path, kafka, unique, redis_server.url, partitions=2) as stage:
        yield stage


def _flush(server: RedisServer) -> None:
    with redis.Redis(port=server.port) as client:
        client.flushall()


@pytest.mark.integration
async def test_with_and_without_the_snapshot_the_state_is_the_committed_one(
    wiped: Stage, redis_server: RedisServer
) -> None:
    """With Redis nothing has to be read, without it everything from the low-water mark on; and nothing is changed."""
    await _left_behind(wiped)
    before = await wiped.committed(), await wiped.ends_of(wiped.topics.events)
    found = await _recovery(wiped, redis_server)
    assert found == Recovery(
        partition=0,
        committed=10,
        low_water=0,
        same_settings=True,
        first=0,
        end=10,
        snapshot=10,
        refused="",
        source="redis",
        start=10,
        replayed=0,
        open_messages=1,
        lost_messages=0,
        lost_records=0,
        agrees=True,
    )
    _flush(redis_server)
    found = await _recovery(wiped, redis_server)
    assert (found.source, found.snapshot, found.start, found.replayed) == ("replay", None, 0, 10)
    assert (found.open_messages, found.sound) == (1, True)
    assert (await wiped.committed(), await wiped.ends_of(wiped.topics.events)) == before


@pytest.mark.integration
async def test_a_kafka_that_goes_away_is_unavailable(
    wiped: Stage, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a replay, too: nobody waits for it without end."""
    await _left_behind(wiped)
    _flush(redis_server)
    goes_away_while_read(monkeypatch)
    async with asyncio.timeout(30):
        with pytest.raises(Unavailable, match="it is away"):
            await _recovery(wiped, redis_server)


@pytest.mark.integration
async def test_what_would_be_lost_is_said(wiped: Stage, redis_server: RedisServer) -> None:
    """The message whose beginning is gone, or that only a replay under other settings could give."""
    await _left_behind(wiped)
    _flush(redis_server)
    config = configuration(wiped)
    other = msgspec.structs.replace(config, parser=ParserSection(format="hermes"))
    found = await _recovery(wiped, redis_server, other)
    assert (found.same_settings, found.lost_messages, found.sound) == (False, 1, False)
    await wiped.delete_records(0, 5)
    found = await _recovery(wiped, redis_server)
    assert (found.first, found.start, found.replayed) == (5, 5, 5)
    assert (found.same_settings, found.lost_messages, found.sound) == (True, 1, False)


@pytest.mark.integration
async def test_a_redis_that_is_away_is_said_and_replaced_by_a_replay(wiped: Stage, redis_server: RedisServer) -> None:
    """As a worker would: it is a cache."""
    await _left_behind(wiped)
    redis_server.kill()
    found = await _recovery(wiped, redis_server)
    assert found.refused.startswith("redis: ")
    assert (found.source, found.replayed, found.sound) == ("replay", 10, True)


@pytest.mark.integration
async def test_what_retention_took_unread_would_end_what_is_open(wiped: Stage, redis_server: RedisServer) -> None:
    """Although the snapshot has all of it up to the commit; and also without one, when it continues."""
    await _left_behind(wiped)
    for seq in (10, 11):
        await wiped.send("c", {"message_id": "m", "seq": seq, "delta": "x"}, partition=0)
    await wiped.delete_records(0, 11)
    found = await _recovery(wiped, redis_server)
    assert (found.source, found.lost_records, found.lost_messages, found.sound) == ("redis", 1, 1, False)
    _flush(redis_server)
    found = await _recovery(wiped, redis_server)
    assert (found.source, found.lost_records, found.lost_messages, found.sound) == ("empty", 1, 1, False)


@pytest.mark.integration
async def test_what_is_replayed_is_told_as_it_goes(wiped: Stage) -> None:
    """By offsets, up to the commit."""
    await _left_behind(wiped)
    told: list[tuple[str, int, int]] = []
    await recoveries(configuration(wiped), None, 0, lambda *how_far: told.append(how_far))
    assert told[0] == ("restoring partition 0", 0, 1)
    assert told[-1] == ("replaying partition 0", 10, 10)


@pytest.mark.integration
async def test_a_group_without_a_commit_starts_empty(wiped: Stage) -> None:
    """From the first record; and a partition that does not exist is refused."""
    first, second = await recoveries(configuration(wiped), None)
    assert (first.committed, first.source, first.sound, second.partition) == (None, "empty", True, 1)
    with pytest.raises(FatalError, match="has 2 partitions"):
        await recoveries(configuration(wiped), None, 2)


def test_people_read_it_in_sentences() -> None:
    """Every number has its words."""
    found = Recovery(
        partition=3,
        committed=90,
        low_water=60,
        same_settings=False,
        first=70,
        end=200,
        snapshot=95,
        refused="too new",
        source="replay",
        start=70,
        replayed=20,
        open_messages=2,
        lost_messages=1,
        lost_records=0,
        agrees=True,
    )
    assert list(sentences(found)) == [
        "partition 3: the topic holds 70 to 200",
        "  commit:   90, low-water mark 60, under other settings",
        "  snapshot: at 95, not used: too new",
        "  restore:  from replay, 20 records read again from 70 on",
        "  state:    2 open messages, as committed",
        "  lost:     1 messages, 0 records",
    ]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("offset", "told", "lost"),
    [
        (4, "what was published from 4 on is published again", 0),
        (11, "records 10 to 10 are skipped, with 1 events that nobody gets; 1 messages that were open end as lost", 1),
    ],
)
async def test_an_offset_that_was_set_by_hand_is_understood(
    wiped: Stage, redis_server: RedisServer, offset: int, told: str, lost: int
) -> None:
    """What would be skipped, or published again, is shown before any worker does it."""
    await _left_behind(wiped)
    await wiped.send("c", {"message_id": "m", "seq": 10, "delta": "x"}, partition=0)
    await reset_offsets(wiped.bootstrap, wiped.group, f"{wiped.topics.tokens}:0", "--to-offset", str(offset))
    found = await _recovery(wiped, redis_server)
    assert (found.committed, found.moved, found.lost_messages) == (offset, told, lost)
    assert f"  moved:    {told}" in sentences(found)
    assert found.sound is not bool(lost)
