"""The log is checked while it is read; what follows from it is in `integration/test_other_logs.py`."""

from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition

from tests.support.rig import rigged, said, words
from tests.support.stage import Stage
from tokenmill.config import Topics
from tokenmill.errors import Unavailable
from tokenmill.kafka.topic_log import Extent, Leader, TopicLog
from tokenmill.partition import LogId, Mark
from tokenmill.worker import log_watch
from tokenmill.worker.lane import Phase
from tokenmill.worker.log_watch import LogWatch

pytestmark = pytest.mark.integration

PLACE = TopicPartition("tokens", 0)


async def test_a_new_leader_of_the_same_log_changes_nothing(stage: Stage) -> None:
    """It is asked once up to where it holds what was read."""
    async with rigged(stage) as rig:
        await rig.live()
        await said(stage, *words("m", "one "))
        await rig.settled(1)
        lane, watch = rig.lane(), LogWatch(rig.engine)
        lane.partition.epoch -= 1
        await watch.look()
        topic = lane.partition.log.topic
        assert watch._checked == {(topic, 0): lane.partition.epoch + 1, (topic, 1): 0}
        assert rig.lane() is lane


@pytest.mark.parametrize("log", ["the first", "another"])
async def test_what_was_checked_of_a_log_says_nothing_of_another(monkeypatch: pytest.MonkeyPatch, log: str) -> None:
    """A topic that was made again counts its leaders from the beginning; the same log is not asked twice."""
    asked, again = list[int](), list[Any]()

    async def extents(_: object, __: str, marks: dict[int, Mark]) -> dict[int, Extent]:
        asked.extend(marks)
        return {number: Extent(0, 4) for number in marks}

    def engine(log: str, epoch: int, offset: int) -> Any:
        partition = SimpleNamespace(log=LogId("kafka", log), epoch=epoch, offset=offset)
        return _engine(SimpleNamespace(phase=Phase.LIVE, partition=partition, topic_partition=PLACE), again)

    monkeypatch.setattr(log_watch, "extents", extents)
    watch = LogWatch(engine("the first", 5, 4))
    _led(monkeypatch, "the first", 7)
    await watch.look()
    assert (asked, again) == ([0], [])
    watch._engine = engine(log, 0, 9)
    _led(monkeypatch, log, 1)
    await watch.look()
    assert (asked, len(again)) == (([0], 0) if log == "the first" else ([0, 0], 1))


def _led(monkeypatch: pytest.MonkeyPatch, log: str, epoch: int) -> None:
    """Make the topic this log, with this leader."""

    async def look(*_: object) -> TopicLog:
        return TopicLog(LogId("kafka", log), {0: Leader(1, epoch)})

    monkeypatch.setattr(log_watch, "look", look)


async def test_an_outage_is_said_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Not at each look, of which there is one a second; the next outage is logged again."""
    lane: Any = SimpleNamespace(phase=Phase.LIVE)
    watch = LogWatch(_engine(lane))
    away = [True, True, True, False, True, True]

    async def asked(*_: object) -> None:
        if away.pop(0):
            raise Unavailable("no broker")

    monkeypatch.setattr(watch, "_look", asked)
    with caplog.at_level("INFO"):
        for _ in range(6):
            await watch.look()
    assert caplog.messages == ["whether the topic is still the same is not known now: no broker"] * 2


def _engine(lane: Any, again: list[Any] | None = None) -> Any:
    """What a look needs of an engine; `again` gets the lanes that begin again."""

    async def begin_again(lanes: list[Any]) -> None:
        assert again is not None
        again.extend(lanes)

    return SimpleNamespace(
        lanes={PLACE: lane},
        config=SimpleNamespace(topics=Topics()),
        consumer=SimpleNamespace(_client=None),
        ownership=SimpleNamespace(begin_again=begin_again),
    )
