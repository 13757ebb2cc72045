"""A state that is not the one that was committed is not gone on with: it is had otherwise, or said to be lost."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.support.other_logs import codes_of, committed_as, events_of, spoken
from tests.support.rig import Rig, rigged, said
from tests.support.stage import Chunk, Stage, until
from tests.support.topics import write_topic
from tokenmill.servers import KafkaServer
from tokenmill.store import MemoryStore

pytestmark = pytest.mark.integration

CALL = '<tool_call>{"name": "rm", "arguments": {"path": "'


async def test_a_snapshot_that_gives_another_state_is_thrown_away(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """All is read again from the low-water mark, which gives the state that was committed: nothing is lost."""
    store = MemoryStore()
    await spoken(stage, store)
    for place, snapshot in store._snapshots.items():
        kept = {name: value for name, value in snapshot.fields.items() if not name.startswith(b"m")}
        store._snapshots[place] = msgspec.structs.replace(snapshot, fields=kept)
    async with rigged(stage, store) as rig:
        await rig.live()
        assert [source for number, source, _ in rig.hooks.restores if number == 0] == ["replay"]
        assert rig.engine.numbers.value("tokenmill_replay_mismatches_total") == 1
        assert "the snapshot is discarded" in caplog.text
        await said(stage, {"message_id": "m", "delta": "end", "end": True})
        await rig.settled(4)
        await rig.snapshot()
    assert await stage.found() == await stage.expected()
    async with rigged(stage, store) as rig:
        await rig.live()
        assert rig.engine.numbers.value("tokenmill_replay_mismatches_total") == 0


async def test_a_state_that_disagrees_by_replay_too_is_said_to_be_lost(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """First without the snapshot, then for good: what is open ends as lost, once, and nothing more comes of it."""
    await _said_to_be_lost(stage, "at-least-once", caplog)


async def test_a_state_that_disagrees_is_said_to_be_lost_in_a_transaction(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """The same, with the commit that remembers it."""
    await _said_to_be_lost(stage, "exactly-once", caplog)


async def _said_to_be_lost(stage: Stage, delivery: str, caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    await spoken(stage, store)
    async with rigged(stage, store) as rig:
        await rig.live()
        await committed_as(rig, digest=7)
    async with rigged(stage, store, delivery=delivery) as rig:
        await rig.live()
        assert rig.engine.numbers.value("tokenmill_replay_mismatches_total") == 2
        assert "1 messages that it has open are announced as lost" in caplog.text
        await said(stage, {"message_id": "m", "delta": "four"})
        await rig.settled(4)
        assert rig.failures == []
    async with rigged(stage, delivery=delivery) as rig:  # its store has nothing
        await rig.live()
        assert rig.engine.numbers.value("tokenmill_replay_mismatches_total") == 0
        await said(stage, {"message_id": "n", "delta": "x", "end": True})
        await rig.settled(5)
    codes = codes_of(await events_of(stage))
    assert codes.count("m state-lost") == codes.count("m finish") == 1
    assert codes.index("m state-lost") < codes.index("n message-start")
    assert [code for code in codes[codes.index("m state-lost") :] if code.startswith("m ")] == [
        "m state-lost",
        "m finish",
    ]


TOOL = {"type": "function", "function": {"name": "rm", "parameters": {"type": "object"}}}
CALLS: list[Chunk] = [
    {"message_id": "m", "open": {"format": "hermes", "tools": [TOOL]}, "delta": f"{CALL}/var/"},
    {"message_id": "m", "delta": 'build"}}</tool_call> and '},
    {"message_id": "m", "delta": f"{CALL}/home/"},
    {"message_id": "m", "delta": 'old.log"}}</tool_call>'},
    {"message_id": "m", "end": True},
]
BEGUN = ["m message-start", "m tool-input-start", "m tool-input-delta"]
"""Two calls, and what comes of the beginning. Without their middle they look like one."""


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
@pytest.mark.parametrize("live", [False, True])
async def test_what_retention_took_unread_makes_no_call_that_nobody_wrote(
    stage: Stage, delivery: str, *, live: bool
) -> None:
    """A worker that is behind, or comes back late: what is open ends as lost, once, and so do those that follow."""
    store = MemoryStore()
    await said(stage, CALLS[0])
    async with rigged(stage, store, delivery=delivery) as rig:
        await rig.live()
        await rig.settled(1)
        await rig.snapshot()
        if live:
            await _overtaken(stage, rig)
    if not live:
        await said(stage, *CALLS[1:])
        await stage.delete_records(0, 3)
    for _ in range(2):
        async with rigged(stage, store, delivery=delivery) as rig:
            await rig.live()
            await rig.settled(5)
            assert rig.failures == []
    assert (await stage.committed())[0][0] == 5
    *begun, code, end = codes_of(await events_of(stage))
    assert (begun, code, end) == (BEGUN, "m state-lost", "m finish")
    assert [event["reason"] for event in await stage.events() if event["type"] == "finish"] == ["error"]
    assert await stage.read(stage.topics.tool_calls) == []


async def _overtaken(stage: Stage, rig: Rig) -> None:
    """What comes next is gone before the worker has read it, and it goes on behind that."""
    rig.engine.consumer.pause(rig.lane().topic_partition)
    await said(stage, *CALLS[1:])
    await stage.delete_records(0, 3)
    rig.engine.consumer.seek(rig.lane().topic_partition, 1)
    rig.engine.consumer.resume(rig.lane().topic_partition)
    old = rig.lane()

    async def renewed() -> bool:
        await rig.turn()
        return rig.lane() is not old and rig.engine.ready

    await until(renewed, "a new lane is live")
    await rig.settled(5)
    assert rig.engine.numbers.value("tokenmill_records_lost_total") == 2


async def test_an_open_message_of_which_nothing_can_be_read_again_ends_as_lost(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """Retention took all of it and the snapshot is gone: it is not begun in its middle when it goes on."""
    await said(stage, {"message_id": "m", "delta": "Hello "}, {"message_id": "n", "delta": "x"})
    async with rigged(stage) as rig:
        await rig.live()
        await rig.settled(2)
    await stage.delete_records(0, 1)
    async with rigged(stage) as rig:
        await rig.live()
        assert "1 open messages could not be read again" in caplog.text
        await said(stage, {"message_id": "m", "delta": "world"}, {"message_id": "m", "end": True})
        await rig.settled(4)
        assert rig.engine.numbers.value("tokenmill_replay_mismatches_total") == 0
    codes = codes_of(await events_of(stage))
    assert [code for code in codes if code.startswith("m ")] == [
        *("m message-start", "m text-start", "m text-delta", "m state-lost", "m finish")
    ]


async def test_a_log_that_lost_its_end_goes_on_from_there(
    start_kafka: Callable[..., KafkaServer],
    tmp_path: Path,
    redis_url: str,
    unique: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A broker that crashed comes back without what it had not on its disk: the state is that of the last record."""
    server, store = start_kafka(), MemoryStore()
    async with Stage(tmp_path, server.bootstrap, unique, redis_url, partitions=1) as stage:
        await spoken(stage, store)
        server.kill()
        _shorten(server, stage.topics.tokens, by=1)
        await asyncio.to_thread(server.start)
        async with rigged(stage, store) as rig:
            await rig.live()
            assert rig.lane().partition.offset == 2
            assert rig.lane().partition.open_messages == 1
            assert rig.engine.numbers.value("tokenmill_log_changes_total", "cut") == 1
            assert rig.engine.numbers.value("tokenmill_records_lost_total") == 1
            assert "it has lost its end; reading continues from where it agrees" in caplog.text
            await write_topic(stage.bootstrap, stage.topics.tokens, [(b"c", b'{"message_id": "m", "end": true}', [])])
            await rig.settled(3)
        async with rigged(stage, store) as rig:
            await rig.live()
            assert rig.engine.numbers.value("tokenmill_log_changes_total", "cut") == 0
        assert codes_of(await events_of(stage))[-1] == "m finish"


def _shorten(server: KafkaServer, topic: str, by: int) -> None:
    """Cut so many batches off the end of partition 0, as if they had never come to the disk."""
    [path] = (server.folder / "data" / f"{topic}-0").glob("*.log")
    content = path.read_bytes()
    starts, at = list[int](), 0
    while at + 12 <= len(content) and (length := int.from_bytes(content[at + 8 : at + 12], "big")):
        starts.append(at)
        at += 12 + length
    os.truncate(path, starts[-by])
