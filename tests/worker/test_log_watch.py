"""The log is looked at while it is read; what it then does is in `integration/test_other_logs.py`."""

from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition

from tests.support.rig import rigged, said, words
from tests.support.stage import Stage
from tokenmill.errors import Unavailable
from tokenmill.worker.lane import Phase
from tokenmill.worker.log_watch import LogWatch

pytestmark = pytest.mark.integration


async def test_a_new_leader_of_the_same_log_changes_nothing(stage: Stage) -> None:
    """It is asked once up to where it has what was read."""
    async with rigged(stage) as rig:
        await rig.live()
        await said(stage, *words("m", "one "))
        await rig.settled(1)
        lane, watch = rig.lane(), LogWatch(rig.engine)
        lane.partition.epoch -= 1
        await watch.look()
        assert watch._checked == {0: lane.partition.epoch + 1, 1: 0}
        assert rig.lane() is lane


async def test_an_outage_is_said_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Not with each look, of which there is one a second; the next outage is said again."""
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


def _engine(lane: Any) -> Any:
    """All that a look needs of it before it asks anybody."""
    return SimpleNamespace(lanes={TopicPartition("tokens", 0): lane})
