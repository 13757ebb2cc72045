"""Messages are closed by records in the log: after a time without chunks, or when memory runs short."""

import json
import time
from types import SimpleNamespace

import pytest
from aiokafka import TopicPartition

from tests.partition.logs import log, partition, run
from tests.support.rig import Rig, rigged
from tests.support.stage import Stage, until
from tokenmill.partition import Partition, TimeoutControl
from tokenmill.worker import idle as idle_module
from tokenmill.worker.idle import LONGEST_ROUND_S, SHORTEST_ROUND_S, IdleCloser, round_seconds
from tokenmill.worker.lane import Phase

pytestmark = pytest.mark.integration


def test_rounds_follow_the_timeout_within_bounds() -> None:
    """A tenth of it, neither all the time nor hardly ever."""
    assert [round_seconds(timeout) for timeout in (0.1, 20, 900)] == [SHORTEST_ROUND_S, 2, LONGEST_ROUND_S]


class _Lane:
    """A lane as far as a look goes."""

    phase, topic_partition = Phase.LIVE, TopicPartition("tokens", 0)

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.written: list[TimeoutControl] = []
        self.inbox = SimpleNamespace(begun=0)

    def write_controls(self, controls: list[TimeoutControl]) -> None:
        """Those that come."""
        self.written += controls


@pytest.mark.parametrize("ended", [False, True])
def test_no_answer_is_cut_for_what_has_ended(monkeypatch: pytest.MonkeyPatch, *, ended: bool) -> None:
    """Options of remembered messages go with the records that follow, and with nothing else."""
    monkeypatch.setattr(idle_module, "MIB", 20_000)
    tools = [{"type": "function", "function": {"name": "f", "description": "a" * 100_000}}]
    state = partition({"message_id": "small", "delta": "x"}, {"message_id": "large", "open": {"tools": tools}})
    run(state, log({"message_id": "large", "end": True}, start=2) if ended else [])
    state.mark()
    lane, paused = _Lane(state), list[object]()
    engine = SimpleNamespace(
        config=SimpleNamespace(worker=SimpleNamespace(idle_timeout_s=900, state_mib=1)),
        lanes={lane.topic_partition: lane},
        caught_up=lambda _: True,
        pause=paused.append,
    )
    IdleCloser(engine).look()  # type: ignore[arg-type] # as much of one as it asks
    assert state.size > 100_000
    assert (len(lane.written), len(paused)) == ((0, 0) if ended else (1, 1))


async def _opened(stage: Stage, rig: Rig, count: int) -> None:
    """So many open messages on partition 0, all read."""
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
        written = "tokenmill_timeouts_written_total"

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
        assert rig.engine.numbers.value("tokenmill_timeouts_written_total") == 0


async def test_short_memory_pauses_input_and_closes_the_longest_idle(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One in ten; the partition goes on when the records that close them are in the log."""
    monkeypatch.setattr(idle_module, "MIB", 1)
    async with rigged(stage, state_mib=1, idle_timeout_s=900) as rig:
        await _opened(stage, rig, 20)
        await rig.commit()
        place = TopicPartition(stage.topics.tokens, 0)
        IdleCloser(rig.engine).look()
        assert rig.engine.numbers.value("tokenmill_timeouts_written_total") == 2
        assert place in rig.engine.consumer.paused()
        lane = rig.engine.lanes[place]
        await until(lambda: lane.inbox.acked == lane.inbox.begun, "they are on the input")
        rig.engine.balance()
        assert place not in rig.engine.consumer.paused()
        *_, first, second = await stage.read(stage.topics.tokens)
        assert (first.key, second.key) == (b"c0", b"c1")
