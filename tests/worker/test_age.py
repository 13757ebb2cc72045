"""What is open for too long is closed by records in the log, by the age that the log tells."""

import json

import pytest
from aiokafka import TopicPartition
from aiokafka.structs import OffsetAndTimestamp

from tests.support.rig import read_all, rigged, sent_ago
from tests.support.stage import Stage, until
from tokenmill.errors import Unavailable
from tokenmill.worker import age as age_module
from tokenmill.worker.age import LONGEST_ROUND_S, SHORTEST_ROUND_S, AgeCloser, round_seconds

pytestmark = pytest.mark.integration

DAY_S = 86_400
"""The default of `worker.max_age_s`."""

WRITTEN = "tokenmill_timeouts_written_total"


def test_rounds_follow_the_age_within_bounds() -> None:
    """A hundredth of it, neither all the time nor hardly ever."""
    assert [round_seconds(age) for age in (1, 200, 86_400)] == [SHORTEST_ROUND_S, 2, LONGEST_ROUND_S]


async def test_a_message_is_closed_by_the_age_of_the_log(stage: Stage) -> None:
    """Also by an owner that has just come; once; and what is younger stays open."""
    async with rigged(stage) as rig:
        await sent_ago(stage, rig, 2 * DAY_S, message_id="old", delta="x")
        await sent_ago(stage, rig, 0, message_id="old", delta="y")
        await sent_ago(stage, rig, 0, message_id="new", delta="x")
        await read_all(stage, rig)
        closer = AgeCloser(rig.engine)
        await closer.look()
        assert rig.engine.numbers.value(WRITTEN) == 1
        await closer.look()
        lane = rig.engine.lanes[TopicPartition(stage.topics.tokens, 0)]
        await until(lambda: lane.inbox.acked == 1, "it is on the input")
        *_, control = await stage.read(stage.topics.tokens)
        assert (control.key, json.loads(control.value)) == (b"c", {"message_id": "old", "control": "timeout"})
        assert dict(control.headers)["tm-opened-before"] == b"3"
        await read_all(stage, rig)
        await lane.drained()
        await closer.look()
        assert (lane.partition.open_messages, rig.engine.numbers.value(WRITTEN)) == (1, 1)
    ends = [event for event in await stage.events() if event["type"] == "finish"]
    assert [(end["message_id"], end["reason"]) for end in ends] == [("old", "timeout")]


async def test_an_age_that_no_record_has_closes_nothing(stage: Stage) -> None:
    """From before there were times: the broker is asked for the first record of all."""
    async with rigged(stage, max_age_s=1e11) as rig:
        await sent_ago(stage, rig, 2 * DAY_S, message_id="m", delta="x")
        await read_all(stage, rig)
        await AgeCloser(rig.engine).look()
        assert rig.engine.numbers.value(WRITTEN) == 0


async def test_where_nothing_is_young_nothing_is_closed_by_age(stage: Stage) -> None:
    """All that is there is idle, which is another record's business. A broker that can't tell answers the same."""
    async with rigged(stage) as rig:
        await sent_ago(stage, rig, 2 * DAY_S, message_id="m", delta="x")
        await read_all(stage, rig)
        await AgeCloser(rig.engine).look()
        assert rig.engine.numbers.value(WRITTEN) == 0


async def test_a_broker_that_does_not_answer_is_asked_again_later(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is too old can wait; what reads and publishes must not end because of it."""
    await stage.send("c", {"message_id": "m", "delta": "x"}, partition=0)
    async with rigged(stage) as rig:
        await read_all(stage, rig)
        answers: list[Exception | None] = [Unavailable("no answer"), None]

        async def asked(call: object, what: str) -> dict[TopicPartition, OffsetAndTimestamp]:  # noqa: ARG001 -- of `deadline`
            call.close()  # type: ignore[attr-defined] # a coroutine
            if problem := answers.pop(0):
                raise problem
            return dict.fromkeys(rig.engine.lanes, OffsetAndTimestamp(1, 0))

        monkeypatch.setattr(age_module, "deadline", asked)
        closer = AgeCloser(rig.engine)
        await closer.look()
        assert rig.engine.numbers.value(WRITTEN) == 0
        await closer.look()
        assert rig.engine.numbers.value(WRITTEN) == 1
