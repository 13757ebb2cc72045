"""How many partitions the outputs have, and what waits until they have more."""

import pytest
from aiokafka import TopicPartition

from tests.support.rig import rigged
from tests.support.stage import Stage, until
from tokenmill.worker.engine import Engine
from tokenmill.worker.gauges import read_gauges
from tokenmill.worker.lane import Phase
from tokenmill.worker.room import UNLIMITED, Holder, Room, held


def test_the_smallest_output_decides() -> None:
    """The input's own number does not count; outputs that nobody counted hold nothing up."""
    assert Room("tokens", {"tokens": 2, "events": 6, "dlq": 8}).partitions == 6
    assert Room().partitions == UNLIMITED


def test_the_sentence_names_each_topic_that_is_too_small_and_the_command() -> None:
    """Wanted are as many as the input has, by the newest that is known of it."""
    room = Room("tokens", {"tokens": 8, "events": 6, "dlq": 8, "tool-calls": 7})
    wanted = "topic events has 6 partitions, topic tool-calls has 7 partitions, tokens has 8"
    assert room.sentence(7) == f"{wanted}: `tokenmill topics create --partitions 8` adds them"
    assert "topic dlq has 8 partitions" in room.sentence(8)
    assert room.sentence(8).endswith("tokens has 9: `tokenmill topics create --partitions 9` adds them")


def test_what_is_not_seen_has_what_it_had() -> None:
    """A topic that is left out of an answer did not shrink."""
    room = Room("tokens", {"tokens": 8, "events": 6, "dlq": 7})
    room.learn({"tokens": 8, "events": 8})
    assert room.partitions == 7


@pytest.mark.integration
async def test_what_is_held_is_not_read_and_goes_on_when_there_is_room(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """The lane has a phase of its own, a gauge counts it, and the worker is ready; then it is like any other."""
    names = [stage.topics.events, stage.topics.tool_calls, stage.topics.dlq]
    counts = {stage.topics.tokens: 2, **dict.fromkeys(names, 1)}

    def prepare(engine: Engine) -> None:
        engine.room.learn(counts)

    async with rigged(stage, prepare=prepare) as rig:
        read_gauges(rig.engine.numbers, rig.engine)
        await rig.live()
        await stage.send("c", {"message_id": "m", "seq": 0, "delta": "x"}, partition=1)
        assert [await rig.turn() for _ in range(5)] == [0] * 5
        assert (rig.lane(1).phase, held(rig.engine)) == (Phase.HELD, [TopicPartition(stage.topics.tokens, 1)])
        assert rig.engine.numbers.value("tokenmill_held_partitions") == 1
        assert rig.engine.numbers.value("tokenmill_replaying_partitions") == 0
        assert "partitions [1] are held" in caplog.text
        await Holder(rig.engine).look()

        async def through() -> bool:
            await rig.turn()
            return rig.lane(1).partition.offset == 1

        await until(through, "the record is processed")
        assert rig.engine.numbers.value("tokenmill_held_partitions") == 0
        assert rig.failures == []
