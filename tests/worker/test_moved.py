"""What is found out about an offset that no worker committed, and what is reported of it."""

import time
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from tests.support.rig import Rig, configuration, rigged, said, sent_ago, words
from tests.support.stage import Stage, without_repeats
from tokenmill.config import Config
from tokenmill.kafka.topic_log import Extent
from tokenmill.observe import Numbers
from tokenmill.partition import Mark, Move, Moved, PartitionSettings, Published
from tokenmill.records import InputRecord
from tokenmill.worker import moved
from tokenmill.worker.moved import event_of, report_move, sentence, understand
from tokenmill.worker.positions import Committed

EVERYTHING = Extent(0, 1 << 30)


@pytest.fixture
async def config(stage: Stage) -> Config:
    """Messages are at most a minute old."""
    found = configuration(stage)
    return msgspec.structs.replace(found, worker=msgspec.structs.replace(found.worker, max_age_s=60))


async def _understood(stage: Stage, config: Config, offset: int, first: int = 0, **settings: Any) -> Committed:
    """A commit on partition 0 without a mark."""
    place = TopicPartition(stage.topics.tokens, 0)
    extents = {place: EVERYTHING._replace(first=first)}
    chosen = msgspec.structs.replace(PartitionSettings.from_config(config), **settings)
    return (await understand(config, chosen, {place: Committed(offset, None)}, extents))[place]


async def _commit(stage: Stage, offset: int) -> None:
    """As a program that has no marks."""
    consumer = AIOKafkaConsumer(bootstrap_servers=stage.bootstrap, group_id=stage.group, enable_auto_commit=False)
    place = TopicPartition(stage.topics.tokens, 0)
    consumer.assign([place])
    await consumer.start()
    try:
        await consumer.commit({place: OffsetAndMetadata(offset, "")})
    finally:
        await consumer.stop()


async def _worked(stage: Stage, *texts: str) -> None:
    """A worker published this on partition 0, committed it, and is gone."""
    async with rigged(stage) as rig:
        await rig.live()
        await said(stage, *words("m", *texts))
        await rig.settled(len(texts))


@pytest.mark.integration
async def test_what_a_worker_committed_is_left_alone(stage: Stage, config: Config) -> None:
    """And nothing is asked; the same holds for a mark of another log."""
    place = TopicPartition(stage.topics.tokens, 0)
    settings = PartitionSettings.from_config(config)
    mark = Mark(3, 0, settings.fingerprint())
    assert await understand(config, settings, {place: Committed(3, mark)}, {place: EVERYTHING}) == {}
    assert await understand(config, settings, {place: Committed(3, None)}, {place: Extent(0, 2)}) == {}


@pytest.mark.integration
async def test_the_state_is_rebuilt_from_what_is_older_than_any_message(stage: Stage, config: Config) -> None:
    """From the oldest record that is remembered, by its time; from the first one if the log is shorter."""
    async with rigged(stage) as rig:
        await rig.live()
        for age in (200, 95, 50, 40, 0):
            await sent_ago(stage, rig, age, message_id="m", delta="x")
    found = [await _understood(stage, config, 5, ended_offsets=ended) for ended in (0, 1, 3, 9)]
    assert [each.mark and each.mark.low_water for each in found] == [2, 1, 1, 0]
    assert all(each.mark and each.mark.offset == each.offset == 5 for each in found)


@pytest.mark.integration
async def test_what_the_log_no_longer_holds_may_have_had_beginnings(stage: Stage, config: Config) -> None:
    """Then the low-water mark is below its first record, so that the replay is one that may lack some."""
    await _worked(stage, "1", "2", "3")
    await stage.delete_records(0, 1)
    assert (found := (await _understood(stage, config, 3, first=1)).mark)
    assert found.low_water == 0
    assert (found := (await _understood(stage, config, 1, first=1)).mark)
    assert found.low_water == 0


@pytest.mark.integration
async def test_the_last_event_is_that_of_the_output(
    stage: Stage, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However far from the end it is; its record is not below the first one of its time."""
    assert (await _understood(stage, config, 0)).move == Move(done=0)
    monkeypatch.setattr(moved, "TAIL", 1)
    before = int(time.time() * 1000)
    async with rigged(stage, delivery="exactly-once") as rig:
        await rig.live()
        for offset, text in enumerate("123", 1):
            await said(stage, *words("m", text))
            await rig.settled(offset)
    move = (await _understood(stage, config, 3)).move
    assert move is not None
    assert move.published is not None
    assert move.published._replace(timestamp=0) == Published(0, b"c", "m", 0, 4, 2)
    assert move.published.timestamp >= before


@pytest.mark.integration
async def test_an_output_that_was_emptied_says_nothing(stage: Stage, config: Config) -> None:
    """There were events, and it is not known which."""
    await _worked(stage, "1", "2")
    await stage.delete_records(0, (await stage.ends_of(stage.topics.events))[0], stage.topics.events)
    assert (await _understood(stage, config, 2)).move == Move()


async def _moved(stage: Stage, offset: int) -> Rig:
    """Return the closed rig of a worker that found the offset set by hand and read to the end of the input."""
    await _commit(stage, offset)
    async with rigged(stage) as rig:
        await rig.live()
        await rig.settled((await stage.ends())[0])
    assert rig.failures == []
    return rig


@pytest.mark.integration
async def test_a_message_that_is_open_there_goes_on_in_the_middle(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """Events come again byte for byte: the state is rebuilt from below."""
    await _worked(stage, "1 ", "2 ", "3 ", "4 ")
    before = (await stage.found())[stage.topics.events, 0]
    rig = await _moved(stage, 2)
    found = (await stage.found())[stage.topics.events, 0]
    assert found[len(before) :] == before[-2:]
    assert without_repeats(found) == before
    assert rig.engine.numbers.value("tokenmill_offsets_moved_total", "back") == 1
    assert "offset 2 was not committed by a worker: what was published from 2 on is published again" in caplog.text


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("tm-seq", b"soon")],
        [("tm-seq", b"7"), ("tm-choice", b"a")],
        [("tm-seq", b"7"), ("tm-message-id", b"\xff")],
    ],
)
def test_a_record_that_no_worker_wrote_says_nothing(headers: list[tuple[str, bytes]]) -> None:
    """A foreign record on the output would otherwise stop each worker that takes the partition over."""
    assert event_of(InputRecord("events", 0, 5, 9, b"c", b"{}", headers)) is None


def test_what_is_said() -> None:
    """There is a sentence for each direction; moves and records are counted."""
    numbers = Numbers()
    place = TopicPartition("tokens", 0)
    sentences = {
        Moved("forward", (3, 7), 11): "records 3 to 6 are skipped, with 11 events that nobody gets; "
        "0 messages that were open end as lost",
        Moved("back"): "what was published from 7 on is published again",
        Moved("none"): "no events are skipped or published again; dead letters from there on are written again",
        Moved(): "what was processed before is not known, nor whether anything is skipped",
    }
    for each, told in sentences.items():
        assert sentence(each, 7) == told
        report_move(numbers, place, 7, each)
        assert numbers.value("tokenmill_offsets_moved_total", each.direction) == 1
    report_move(numbers, place, 7, None)
    assert numbers.value("tokenmill_records_skipped_total") == 4
