"""Time enters through the log: a timeout that one owner writes is another's to read, and ends the message once."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiokafka import TopicPartition

from tests.support.rig import Rig, read_all, rigged, sent_ago
from tests.support.stage import Stage, until
from tokenmill.limits import ENDED_OFFSETS
from tokenmill.partition import Mark
from tokenmill.worker.timeouts import AgeCloser, IdleCloser

pytestmark = pytest.mark.integration

IDLE_S = 0.2
DAY_S = 86_400
"""The default of `worker.max_age_s`."""


async def _idle(stage: Stage, rig: Rig) -> None:
    """The first message gets nothing for the time."""
    closer = IdleCloser(rig.engine)
    await sent_ago(stage, rig, 0, message_id="m", delta="and then")
    await read_all(stage, rig)

    def look() -> float:
        closer.look()
        return rig.engine.numbers.value("tokenmill_timeouts_written_total")

    await until(look, "the message is idle for long enough")


async def _old(stage: Stage, rig: Rig) -> None:
    """The first message is from the day before yesterday, and still gets chunks."""
    await sent_ago(stage, rig, 2 * DAY_S, message_id="m", delta="and then")
    await sent_ago(stage, rig, 0, message_id="m", delta="and then")
    await read_all(stage, rig)
    await AgeCloser(rig.engine).look()


@pytest.mark.parametrize(("happens", "settings"), [(_idle, {"idle_timeout_s": IDLE_S}), (_old, {})])
async def test_a_timeout_is_read_by_the_next_owner(
    stage: Stage, happens: Callable[[Stage, Rig], Awaitable[None]], settings: dict[str, Any]
) -> None:
    """The worker ends between writing the record and reading it; the next one ends the message, once.

    Then nothing holds the low-water mark any more: it comes to what opened last.
    """
    place = TopicPartition(stage.topics.tokens, 0)
    async with rigged(stage, **settings) as rig:
        await happens(stage, rig)
        await rig.engine.lanes[place].drained()
        await rig.commit()
        inbox = rig.engine.lanes[place].inbox
        await until(lambda: inbox.acked == 1, "the record is on the input")
    assert Mark.decode((await stage.committed())[0][1]) == rig.engine.lanes[place].committed

    async with rigged(stage, idle_timeout_s=900) as rig:
        await read_all(stage, rig)
        assert [source for partition, source, _ in rig.hooks.restores if not partition] == ["replay"]
        lane = rig.engine.lanes[place]
        assert lane.partition.open_messages == 0
        assert lane.partition.mark().low_water == 0
        for _ in range(ENDED_OFFSETS):
            await rig.engine.producer.send(place.topic, b'{"usage": {}}', key=b"c", partition=0)
        await sent_ago(stage, rig, 0, message_id="n", delta="x")
        await read_all(stage, rig)
        await lane.drained()
        await rig.commit()
        assert lane.committed is not None
        assert lane.committed.low_water == lane.committed.offset - 1
    finishes = [event for event in await stage.events() if event["type"] == "finish"]
    assert [(event["message_id"], event["reason"]) for event in finishes] == [("m", "timeout")]
    assert await stage.found() == await stage.expected()
