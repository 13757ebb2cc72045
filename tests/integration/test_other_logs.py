"""The topic is not the log that was committed: made anew, of another cluster, or short of its end (design 4.13)."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from aiokafka.structs import OffsetAndMetadata

from tests.support.other_logs import codes_of, committed_as, events_of, spoken
from tests.support.rig import rigged, said, words
from tests.support.stage import Chunk, Stage, until
from tests.support.topics import alter_topic, make_anew, write_topic
from tokenmill.kafka import believed_ends
from tokenmill.partition import LogId
from tokenmill.servers import KafkaServer
from tokenmill.servers.process import free_port
from tokenmill.servers.worker import WorkerProcess
from tokenmill.store import MemoryStore
from tokenmill.worker.lane import Phase
from tokenmill.worker.log_watch import LogWatch

pytestmark = pytest.mark.integration

DELIVERIES = ("at-least-once", "exactly-once")

DISBELIEF_S = 4.0
"""Several tries to learn what the topic holds."""

NEW = 30
"""Conversations in the new log: more records than the old one had."""


async def _write(stage: Stage, *chunks: Chunk) -> None:
    """By a producer that knows nothing of the log before; under one key, so on one partition."""
    await write_topic(
        stage.bootstrap, stage.topics.tokens, ((b"c", json.dumps(chunk).encode(), []) for chunk in chunks)
    )


def _conversations() -> list[Chunk]:
    return [
        chunk
        for number in range(NEW)
        for chunk in (
            {"message_id": f"new-{number}", "seq": 0, "delta": "word "},
            {"message_id": f"new-{number}", "seq": 1, "delta": "and end", "end": True},
        )
    ]


def _metric(worker: WorkerProcess, name: str) -> float:
    [line] = [line for line in worker.metrics().splitlines() if line.startswith(name)]
    return float(line.rpartition(" ")[2])


@pytest.fixture
async def single(tmp_path: Path, kafka: str, redis_url: str, unique: str) -> AsyncIterator[Stage]:
    """Topics with one partition."""
    async with Stage(tmp_path, kafka, unique, redis_url, partitions=1) as stage:
        yield stage


@pytest.mark.parametrize("delivery", DELIVERIES)
async def test_a_topic_that_is_made_anew_while_workers_run_is_another_log(single: Stage, delivery: str) -> None:
    """What was open is said to be lost, once; the new log is read from its first record, with a state of its own."""
    worker = await single.start(delivery=delivery)
    await _write(single, *words("gone", "one ", "two "), {"message_id": "over", "delta": "x", "end": True})
    await until(single.caught_up, "everything is committed")
    before = await events_of(single)
    await make_anew(single.bootstrap, single.topics.tokens, 1)
    await _write(single, *_conversations())
    await until(single.caught_up, "the new log is read")

    [expected] = [value for (topic, _), value in (await single.expected()).items() if topic == single.topics.events]
    events = await events_of(single)
    assert events[: len(before)] == before
    assert events[-len(expected) :] == expected
    assert codes_of(events[len(before) : -len(expected)]) == ["gone state-lost", "gone finish"]
    assert _metric(worker, 'tokenmill_log_changes_total{change="another"}') == 1
    messages = [line["message"] for line in single.logged(worker)]
    assert any("it is another log under the same name, and is read from its first record" in each for each in messages)
    assert any("1 open messages are announced as lost" in each for each in messages)
    assert worker.alive


@pytest.mark.parametrize("delivery", DELIVERIES)
async def test_a_topic_that_was_made_anew_while_no_worker_ran_is_another_log(single: Stage, delivery: str) -> None:
    """What was open is known from the snapshot, and said once, however often a worker starts."""
    worker = await single.start(delivery=delivery)
    await _write(single, *words("gone", "one ", "two "))
    await until(single.caught_up, "everything is committed")
    await asyncio.to_thread(worker.stop)
    before = await events_of(single)
    await make_anew(single.bootstrap, single.topics.tokens, 1)
    await _write(single, *_conversations())
    for _ in range(2):
        worker = await single.start(delivery=delivery)
        await until(single.caught_up, "the new log is read")
        await asyncio.to_thread(worker.stop)

    [expected] = [value for (topic, _), value in (await single.expected()).items() if topic == single.topics.events]
    events = await events_of(single)
    assert codes_of(events[len(before) : -len(expected)]) == ["gone state-lost", "gone finish"]
    assert events[-len(expected) :] == expected
    assert single.sources()["redis"] + single.sources()["empty"] >= 3


async def test_two_clusters_with_the_same_names_share_a_redis(
    single: Stage, start_kafka: Callable[..., KafkaServer], tmp_path: Path
) -> None:
    """Each restores its own snapshots, though group, topic and partition have the same names in both."""
    unique = single.group.removeprefix("group-")
    url = single.settings["redis"]["url"]
    async with Stage(tmp_path / "other", start_kafka().bootstrap, unique, url, partitions=1) as other:
        for name, stage in (("here", single), ("there", other)):
            worker = await stage.start()
            await _write(stage, *words(name, "one ", "two "))
            await until(stage.caught_up, "everything is committed")
            await asyncio.to_thread(worker.stop)
        for name, stage in (("here", single), ("there", other)):
            await stage.start()
            await _write(stage, *words(name, "three"), {"message_id": name, "end": True})
            await until(stage.caught_up, "everything is committed")
            restored = stage.sources()
            assert (restored["redis"], restored["replay"]) == (1, 0)
            assert await stage.found() == await stage.expected()


async def test_a_compacted_input_is_refused(single: Stage) -> None:
    """Exit code 1, with the topic's name, its policy and the command that fixes it; `compact,delete` is no better."""
    for policy in ("compact", "compact,delete"):
        await alter_topic(single.bootstrap, single.topics.tokens, {"cleanup.policy": policy})
        worker = single.prepare()
        worker.folder.mkdir(parents=True, exist_ok=True)
        worker.port = free_port()
        assert not worker._run()
        assert worker.process.wait(60) == 1
        told = worker.log.read_text()
        assert f"topic {single.topics.tokens}: its cleanup.policy is {policy}" in told
        assert "--add-config cleanup.policy=delete" in told


async def test_who_has_not_heard_of_the_leader_that_wrote_what_is_committed_is_not_believed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end is below the commit. Nothing is begun before somebody tells of a leader as new as that."""
    monkeypatch.setattr(believed_ends, "BELIEF_S", 0.1)
    store = MemoryStore()
    await spoken(stage, store)
    async with rigged(stage, store) as rig:
        await rig.live()
        mark = await committed_as(rig, offset=5, epoch=rig.lane().partition.epoch + 1)
    async with rigged(stage, store) as rig:
        await until(lambda: rig.engine.lanes, "the partition is assigned")
        given_up = time.monotonic() + DISBELIEF_S
        while rig.lane().phase is Phase.RESTORING and time.monotonic() < given_up:
            await rig.turn()
        assert rig.lane().phase is Phase.RESTORING
        right = OffsetAndMetadata(mark.offset, mark.encode())
        await rig.engine.consumer.commit({rig.lane().topic_partition: right})
    async with rigged(stage, store) as rig:
        await rig.live()
        await said(stage, {"message_id": "m", "end": True})
        await rig.settled(4)
    assert await stage.found() == await stage.expected()


async def test_a_commit_of_another_log_means_nothing(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever committed it: the topic is read from its first record; what was open there is known nowhere."""
    async with rigged(stage) as rig:
        await rig.live()
        await said(stage, *words("m", "one ", "two ", "three "))
        await rig.settled(3)
        await committed_as(rig, log=LogId("", "another"))
    async with rigged(stage) as rig:
        await rig.live()
        assert [restore for restore in rig.hooks.restores if restore[0] == 0] == [(0, "empty", 0)]
        assert rig.engine.numbers.value("tokenmill_log_changes_total", "another") == 1
        assert "which messages were open is not known; 1 were committed as open" in caplog.text
        await rig.settled(3)
    events = [content for (topic, _), contents in (await stage.found()).items() for content in contents]
    expected = [content for contents in (await stage.expected()).values() for content in contents]
    assert events == expected * 2


async def test_a_change_of_the_log_is_seen_at_the_next_look(stage: Stage) -> None:
    """Though the new log has records at all offsets that come next, and no fetch would fail."""
    await _seen_at_the_next_look(stage, "at-least-once")


async def test_a_change_of_the_log_is_seen_at_the_next_look_in_transactions(stage: Stage) -> None:
    """What is said of the old log is part of the first transaction of the new one."""
    await _seen_at_the_next_look(stage, "exactly-once")


async def _seen_at_the_next_look(stage: Stage, delivery: str) -> None:
    async with rigged(stage, delivery=delivery) as rig:
        await rig.live()
        await said(stage, *words("gone", "one "))
        await rig.settled(1)
        before, place = rig.lane(), rig.lane().topic_partition
        rig.engine.consumer.pause(place)
        cluster = rig.engine.consumer._client.cluster
        cluster.update_metadata = lambda _: None  # the client does not happen to ask while there is no topic
        await make_anew(stage.bootstrap, stage.topics.tokens, 2)
        await _write(stage, *words("new", "one ", "two ", "three "))
        watch = LogWatch(rig.engine)

        async def seen() -> bool:
            await watch.look()  # one that Kafka can't answer now is followed by the next
            return rig.lane() is not before

        await until(seen, "the change is seen")
        del cluster.update_metadata
        await rig.live()
        await rig.settled(3)
        assert rig.engine.numbers.value("tokenmill_log_changes_total", "another") >= 1
        assert rig.failures == []
    codes = codes_of((await stage.found())[stage.topics.events, 0])
    assert codes.count("gone state-lost") == codes.count("gone finish") == 1
    assert codes[codes.index("gone finish") + 1 :].count("new message-start") == 1


async def test_a_log_that_is_the_same_is_left_alone(stage: Stage) -> None:
    """A look changes nothing, nor does a broker that does not answer."""
    async with rigged(stage) as rig:
        watch = LogWatch(rig.engine)
        await watch.look()
        await rig.live()
        lanes = dict(rig.engine.lanes)
        await watch.look()
        await watch.look()
        assert rig.engine.lanes == lanes
        brokers = dict(rig.engine.consumer._client.cluster._brokers)
        rig.engine.consumer._client.cluster._brokers.clear()
        await watch.look()
        rig.engine.consumer._client.cluster._brokers.update(brokers)
        assert rig.engine.lanes == lanes
