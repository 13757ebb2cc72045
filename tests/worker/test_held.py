"""Input partitions that wait until the outputs have more partitions."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition

from tests.support.rig import rigged
from tests.support.stage import Stage, until
from tokenmill.config import Config
from tokenmill.kafka.topics import output_topics
from tokenmill.worker import held as module
from tokenmill.worker.engine import Engine
from tokenmill.worker.gauges import read_gauges
from tokenmill.worker.held import HeldWatch, held
from tokenmill.worker.lane import Phase
from tokenmill.worker.output_partitions import OutputPartitions


@pytest.mark.integration
async def test_what_is_held_is_not_read_and_goes_on_when_there_is_room(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """The lane has a phase of its own, a gauge counts it, and the worker is ready; then it is like any other."""
    names = [stage.topics.events, stage.topics.tool_calls, stage.topics.dlq]
    counts = {stage.topics.tokens: 2, **dict.fromkeys(names, 1)}

    def prepare(engine: Engine) -> None:
        engine.output_partitions.learn(counts)

    async with rigged(stage, prepare=prepare) as rig:
        read_gauges(rig.engine.numbers, rig.engine)
        await rig.live()
        await stage.send("c", {"message_id": "m", "seq": 0, "delta": "x"}, partition=1)
        assert [await rig.turn() for _ in range(5)] == [0] * 5
        assert (rig.lane(1).phase, held(rig.engine)) == (Phase.HELD, [TopicPartition(stage.topics.tokens, 1)])
        assert rig.engine.numbers.value("tokenmill_held_partitions") == 1
        assert rig.engine.numbers.value("tokenmill_replaying_partitions") == 0
        assert "partitions [1] are held" in caplog.text
        await HeldWatch(rig.engine).look()

        async def through() -> bool:
            await rig.turn()
            return rig.lane(1).partition.offset == 1

        await until(through, "the record is processed")
        assert rig.engine.numbers.value("tokenmill_held_partitions") == 0
        assert rig.failures == []


async def test_only_what_has_a_place_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs may have grown, and not by enough."""
    config, places = Config(), [TopicPartition("tokens", number) for number in range(4)]
    counts = {config.topics.tokens: 4, **dict.fromkeys(output_topics(config), 3)}

    async def counted(*_: object) -> dict[str, int]:
        return counts

    monkeypatch.setattr(module, "make_admin", lambda _: nullcontext())
    monkeypatch.setattr(module, "partition_counts", counted)
    released = list[TopicPartition]()
    engine: Any = SimpleNamespace(
        config=config,
        lanes={place: SimpleNamespace(phase=Phase.HELD if place.partition else Phase.LIVE) for place in places},
        output_partitions=OutputPartitions(config.topics.tokens),
        ownership=SimpleNamespace(let_go=released.extend),
    )
    await HeldWatch(engine).look()
    assert released == places[1:3]
