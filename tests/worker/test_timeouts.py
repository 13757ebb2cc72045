"""Messages are closed by records in the log: without chunks for a time, by their age, or when memory runs short."""

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.structs import OffsetAndTimestamp

from tests.partition.logs import log, partition, run
from tests.support.rig import Rig, read_all, rigged, sent_ago
from tests.support.stage import Stage, until
from tokenmill.errors import Unavailable
from tokenmill.partition import Partition, TimeoutControl
from tokenmill.worker import timeouts
from tokenmill.worker.lane import Phase
from tokenmill.worker.timeouts import AGE_ROUNDS, IDLE_ROUNDS, AgeCloser, IdleCloser

pytestmark = pytest.mark.integration


DAY_S = 86_400
"""The default of `worker.max_age_s`."""

WRITTEN = "tokenmill_timeouts_written_total"


def test_rounds_follow_the_timeout_within_bounds() -> None:
    """A fraction of it, neither all the time nor hardly ever."""
    assert [IDLE_ROUNDS.seconds(timeout) for timeout in (0.1, 20, 900)] == [0.2, 2, 5]
    assert [AGE_ROUNDS.seconds(age) for age in (1, 200, 86_400)] == [0.5, 2, 60]


class _Lane:
    """What a look needs of a lane."""

    phase, topic_partition = Phase.LIVE, TopicPartition("tokens", 0)

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.written: list[TimeoutControl] = []
        self.hold = 0
        self.inbox = SimpleNamespace(begun=0, acked=0, end=0)

    def write_controls(self, controls: list[TimeoutControl]) -> None:
        """Note them; no broker has acknowledged them."""
        self.written += controls
        self.inbox.begun += bool(controls)


def _engine(lane: _Lane, pause: Callable[[object], None] = lambda _: None, **worker: int) -> Any:
    """What a look needs of an engine."""
    return SimpleNamespace(
        config=SimpleNamespace(worker=SimpleNamespace(**worker)),
        clock=time.monotonic,
        lanes={lane.topic_partition: lane},
        caught_up=lambda _: True,
        pause=pause,
    )


@pytest.mark.parametrize("ended", [False, True])
def test_no_answer_is_cut_for_what_has_ended(monkeypatch: pytest.MonkeyPatch, *, ended: bool) -> None:
    """Options of remembered messages go when further records come, and by nothing else."""
    monkeypatch.setattr(timeouts, "MIB", 20_000)
    tools = [{"type": "function", "function": {"name": "f", "description": "a" * 100_000}}]
    state = partition({"message_id": "small", "delta": "x"}, {"message_id": "large", "open": {"tools": tools}})
    run(state, log({"message_id": "large", "end": True}, start=2) if ended else [])
    state.mark()
    lane, paused = _Lane(state), list[object]()
    IdleCloser(_engine(lane, paused.append, idle_timeout_s=900, state_mib=1)).look()
    assert state.size > 100_000
    assert (len(lane.written), len(paused)) == ((0, 0) if ended else (1, 1))


def test_a_clock_that_is_set_closes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither too early, as when it is set forward by an hour, nor never: the time that has passed counts."""
    lane, now = _Lane(partition({"message_id": "m", "delta": "x"})), [0.0]
    engine = _engine(lane, idle_timeout_s=300, state_mib=1)
    engine.clock = lambda: now[0]
    closer, written = IdleCloser(engine), []
    for step, set_to in ((0, 1e9), (85, 1e9 + 3_600), (210, 1e9 - 3_600), (85, 0)):
        now[0] += step
        monkeypatch.setattr(time, "time", lambda said=set_to: said)
        closer.look()
        written.append(len(lane.written))
    assert written == [0, 0, 0, 1]


async def _opened(stage: Stage, rig: Rig, count: int) -> None:
    """Open this many messages on partition 0, and read all."""
    await until(lambda: rig.engine.ready, "every partition is live")
    for number in range(count):
        await stage.send(f"c{number}", {"message_id": "m", "delta": "x"}, partition=0)
    while rig.engine.position(TopicPartition(stage.topics.tokens, 0)) < count:
        await rig.turn()


async def test_an_idle_message_gets_a_timeout_record(stage: Stage) -> None:
    """In its own partition, native, with the last offset it had; once, not at every look."""
    async with rigged(stage, idle_timeout_s=0.2) as rig:
        await _opened(stage, rig, 1)
        closer = IdleCloser(rig.engine)
        written = WRITTEN

        def look() -> bool:
            closer.look()
            return rig.engine.numbers.value(written) > 0

        await until(look, "the message is idle for long enough")
        closer.look()
        assert rig.engine.numbers.value(written) == 1
        [lane] = [lane for lane in rig.engine.lanes.values() if lane.inbox.begun]
        await until(lambda: lane.inbox.acked, "it is on the input")
        first, control = await stage.read(stage.topics.tokens)
        headers = dict(control.headers)
        assert (control.partition, control.key) == (0, first.key)
        assert (headers["tm-codec"], headers["tm-last-offset"]) == (b"native", b"0")
        assert json.loads(control.value)["control"] == "timeout"
        assert abs(control.timestamp - time.time() * 1000) < 60_000


async def test_a_host_whose_clock_is_ahead_ends_what_is_idle_too(stage: Stage) -> None:
    """The broker rejects a time that is an hour from now: then the log's time is used, and the worker continues."""
    async with rigged(stage, idle_timeout_s=0.2) as rig:
        await _opened(stage, rig, 1)
        rig.lane()._wall = lambda: time.time() + 2 * 3_600
        closer = IdleCloser(rig.engine)

        async def ended() -> bool:
            closer.look()
            await rig.turn()
            return rig.lane().partition.open_messages == 0

        await until(ended, "the message is closed")
        assert rig.failures == []
        first, control = await stage.read(stage.topics.tokens)
        assert 200 <= control.timestamp - first.timestamp < 60_000


async def test_behind_a_backlog_nothing_is_idle(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its chunks are only waiting to be read."""
    async with rigged(stage, idle_timeout_s=0.001) as rig:
        await _opened(stage, rig, 1)
        closer = IdleCloser(rig.engine)
        place = TopicPartition(stage.topics.tokens, 0)
        assert rig.engine.caught_up(place)
        monkeypatch.setattr(rig.engine, "end", lambda _: 2)  # as after a fetch that found more
        closer.look()
        closer.look()
        assert not rig.engine.caught_up(place)
        assert rig.engine.numbers.value(WRITTEN) == 0


@asynccontextmanager
async def _short_of_memory(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Rig]:
    """Twenty messages are open, and take more memory than they may."""
    monkeypatch.setattr(timeouts, "MIB", 1)
    async with rigged(stage, state_mib=1, idle_timeout_s=900) as rig:
        await _opened(stage, rig, 20)
        yield rig


async def test_short_memory_pauses_input_and_closes_the_longest_idle(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One in ten; the partition continues when the records that close them are in the log."""
    async with _short_of_memory(stage, monkeypatch) as rig:
        await rig.commit()
        place = TopicPartition(stage.topics.tokens, 0)
        IdleCloser(rig.engine).look()
        assert rig.engine.numbers.value(WRITTEN) == 2
        rig.engine.balance()
        assert place in rig.engine.consumer.paused()
        lane = rig.engine.lanes[place]
        await until(lambda: lane.inbox.acked == lane.inbox.begun, "they are on the input")
        rig.engine.balance()
        assert place not in rig.engine.consumer.paused()
        *_, first, second = await stage.read(stage.topics.tokens)
        assert (first.key, second.key) == (b"c0", b"c1")


async def test_what_relieves_memory_comes_round_before_more_is_written(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise each look makes a backlog longer. A lane that never catches up is relieved all the same."""
    async with _short_of_memory(stage, monkeypatch) as rig:
        monkeypatch.setattr(rig.engine, "end", lambda _: 1_000)  # as after a fetch that found more
        lane, closer = rig.lane(), IdleCloser(rig.engine)
        for number in range(20, 30):
            await stage.send(f"c{number}", {"message_id": "m", "delta": "x"}, partition=0)

        def written() -> float:
            closer.look()
            return rig.engine.numbers.value(WRITTEN)

        assert (written(), written()) == (2, 2)
        await until(lambda: lane.inbox.acked == lane.inbox.begun, "they are on the input")
        assert written() == 2
        await rig.parsed(32)
        assert lane.partition.open_messages == 28
        assert not rig.engine.caught_up(lane.topic_partition)
        assert written() == 4


async def test_memory_is_relieved_though_something_becomes_idle_at_every_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that the same look writes for them are no reason to wait."""
    monkeypatch.setattr(timeouts, "MIB", 1)
    monkeypatch.setattr(Partition, "idle", lambda state, *_: state.longest_idle(1))
    lane = _Lane(partition(*({"message_id": f"m{number}", "delta": "x"} for number in range(20))))
    IdleCloser(_engine(lane, idle_timeout_s=900, state_mib=1)).look()
    assert len(lane.written) == 1 + 2


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


@pytest.mark.parametrize("lacks", ["", "live", "acknowledged", "caught up", "ours", "young"])
async def test_only_where_everything_is_read_is_anything_too_old(lacks: str) -> None:
    """What opened before the first young record may be in what is yet to be read, or be another worker's by now."""
    lane = _Lane(partition({"message_id": "m", "delta": "x"}))
    lane.phase = Phase.RESTORING if lacks == "live" else Phase.LIVE
    lane.inbox.acked -= lacks == "acknowledged"
    engine = _engine(lane, max_age_s=DAY_S)
    engine.caught_up = lambda _: lacks != "caught up"

    async def asked(times: dict[TopicPartition, int]) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        lane.phase = Phase.CLOSED if lacks == "ours" else lane.phase
        return dict.fromkeys(times, None if lacks == "young" else OffsetAndTimestamp(1, 0))

    engine.consumer = SimpleNamespace(offsets_for_times=asked)
    await AgeCloser(engine).look()
    assert len(lane.written) == (not lacks)


async def test_an_age_that_no_record_has_closes_nothing(stage: Stage) -> None:
    """From before timestamps: the broker is asked for the first record of all."""
    async with rigged(stage, max_age_s=1e11) as rig:
        await sent_ago(stage, rig, 2 * DAY_S, message_id="m", delta="x")
        await read_all(stage, rig)
        await AgeCloser(rig.engine).look()
        assert rig.engine.numbers.value(WRITTEN) == 0


async def test_where_nothing_is_young_nothing_is_closed_by_age(stage: Stage) -> None:
    """All that is there is idle, which other records end. A broker that can't look up times answers the same."""
    async with rigged(stage) as rig:
        await sent_ago(stage, rig, 2 * DAY_S, message_id="m", delta="x")
        await read_all(stage, rig)
        await AgeCloser(rig.engine).look()
        assert rig.engine.numbers.value(WRITTEN) == 0


async def test_a_broker_that_does_not_answer_is_asked_again_later(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is too old can wait; reading and publishing must not end because of it."""
    await stage.send("c", {"message_id": "m", "delta": "x"}, partition=0)
    async with rigged(stage) as rig:
        await read_all(stage, rig)
        answers: list[Exception | None] = [Unavailable("no answer"), None]

        async def asked(call: object, what: str) -> dict[TopicPartition, OffsetAndTimestamp]:  # noqa: ARG001 -- of `deadline`
            call.close()  # type: ignore[attr-defined] # a coroutine
            if problem := answers.pop(0):
                raise problem
            return dict.fromkeys(rig.engine.lanes, OffsetAndTimestamp(1, 0))

        monkeypatch.setattr(timeouts, "deadline", asked)
        closer = AgeCloser(rig.engine)
        await closer.look()
        assert rig.engine.numbers.value(WRITTEN) == 0
        await closer.look()
        assert rig.engine.numbers.value(WRITTEN) == 1
