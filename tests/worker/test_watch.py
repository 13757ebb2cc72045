"""Silent deaths are found: of the client's tasks, of progress, of the event loop."""

import asyncio
import subprocess
import sys
import time
from functools import partial

import pytest
from aiokafka import TopicPartition

from tests.support.rig import Rig, rigged
from tests.support.stage import Stage, until
from tests.support.unread import unread_pipe
from tokenmill.errors import FatalError
from tokenmill.observe import Numbers
from tokenmill.store import MemoryStore, Snapshot
from tokenmill.worker import ownership as ownership_module
from tokenmill.worker import watch as watch_module
from tokenmill.worker.lane import Phase
from tokenmill.worker.watch import LONGEST_LOOK_S, Pulse, Watch

pytestmark = pytest.mark.integration

PATIENCE_S = 60.0


async def _live(rig: Rig) -> None:
    async def read() -> bool:
        await rig.turn()
        return rig.engine.ready

    await until(read, "every partition is live")


def _watched(rig: Rig) -> tuple[list[float], Watch]:
    """Return the time, which a test advances, and a watch that goes by it."""
    now = [0.0]
    rig.engine.clock = lambda: now[0]
    return now, Watch(rig.engine, PATIENCE_S)


def _after(seconds: float, now: list[float], watch: Watch) -> list[str]:
    """Return what is wrong at the end of this time, during which looks miss nothing."""
    end, problems = now[0] + seconds, list[str]()
    while now[0] < end:
        now[0] = min(end, now[0] + LONGEST_LOOK_S)
        problems = list(watch.problems())
    return problems


async def test_a_sound_worker_is_left_alone(stage: Stage) -> None:
    """Idle for long, but with answers from the broker and nothing to do."""
    async with rigged(stage) as rig:
        await _live(rig)
        now, watch = _watched(rig)

        def answered() -> set[int]:
            return {rig.engine.consumer.last_poll_timestamp(place) for place in rig.engine.lanes}

        def anew(before: set[int]) -> bool:
            return not before & answered()

        for _ in range(3):
            await until(partial(anew, answered()), "a fetch of each is answered")
            assert _after(PATIENCE_S - 1, now, watch) == []
        watch.look()


async def test_a_partition_that_is_held_is_not_stuck(stage: Stage) -> None:
    """A person has to decide; another start would change nothing."""
    async with rigged(stage) as rig:
        await _live(rig)
        now, watch = _watched(rig)
        rig.engine.lanes[TopicPartition(stage.topics.tokens, 0)].phase = Phase.HELD
        assert not [problem for problem in _after(2 * PATIENCE_S, now, watch) if "state held" in problem]


async def test_a_process_that_was_suspended_is_not_stuck(stage: Stage) -> None:
    """It could see nothing meanwhile; what does not move afterwards is noticed."""
    async with rigged(stage) as rig:
        await _live(rig)
        now, watch = _watched(rig)
        rig.engine.lanes[TopicPartition(stage.topics.tokens, 0)].phase = Phase.REPLAYING
        assert list(watch.problems()) == []
        now[0] += 10 * PATIENCE_S
        assert list(watch.problems()) == []
        assert any("state replaying" in problem for problem in _after(PATIENCE_S, now, watch))


@pytest.mark.parametrize("name", ["fetching", "metadata", "coordination", "sending"])
async def test_the_client_s_tasks_are_watched(stage: Stage, name: str) -> None:
    """Without them `getmany` and `send` do nothing, for ever."""
    async with rigged(stage) as rig:
        await _live(rig)
        tasks = {
            "fetching": rig.engine.consumer._fetcher._fetch_task,
            "metadata": rig.engine.consumer._client._sync_task,
            "coordination": rig.engine.consumer._coordinator._coordination_task,
            "sending": rig.engine.producer._sender.sender_task,
        }
        tasks[name].cancel()
        await asyncio.wait([tasks[name]])
        with pytest.raises(FatalError, match=f"the Kafka client's {name} task has ended"):
            Watch(rig.engine, PATIENCE_S).look()


async def test_a_partition_without_progress_is_found(stage: Stage) -> None:
    """Lag that stays, a restore that stays, output that is not acknowledged; each moves again and is forgiven."""
    async with rigged(stage) as rig:
        await _live(rig)
        place = TopicPartition(stage.topics.tokens, 0)
        lane = rig.engine.lanes[place]
        now, watch = _watched(rig)

        def stuck(seconds: float = 1) -> list[str]:
            return [problem for problem in _after(seconds, now, watch) if "progress" in problem]

        lane.phase = Phase.REPLAYING
        assert stuck() == []
        assert "state replaying without progress for 60 s" in stuck(PATIENCE_S + 1)[0]
        lane.phase = Phase.LIVE
        assert stuck() == []
        lane.outboxes[stage.topics.events].begun += 1
        lane.publish([], [])
        assert stuck() == []
        each, all_of_it = stuck(PATIENCE_S + 1)
        assert f"unacknowledged output to {stage.topics.events} without progress" in each
        assert "unacknowledged output without progress" in all_of_it
        lane.outboxes[stage.topics.events].acked += 1
        lane.settle()
        assert stuck() == []


async def test_one_topic_that_acknowledges_nothing_is_found(stage: Stage) -> None:
    """Though outputs to another one are acknowledged at every look: nothing is committed meanwhile."""
    async with rigged(stage) as rig:
        await _live(rig)
        lane = rig.engine.lanes[TopicPartition(stage.topics.tokens, 0)]
        dead, moving = lane.outboxes[stage.topics.dlq], lane.outboxes[stage.topics.events]
        now, watch = _watched(rig)

        def after(seconds: float) -> list[str]:
            problems, end = list[str](), now[0] + seconds
            while now[0] < end:
                moving.begun += 1
                moving.acked += 1
                problems = _after(LONGEST_LOOK_S, now, watch)
            return [problem for problem in problems if "progress" in problem]

        dead.begun += 1
        lane.publish([], [])
        assert after(LONGEST_LOOK_S) == []
        assert after(PATIENCE_S) == []
        told = f"{stage.topics.tokens}/0: unacknowledged output to {stage.topics.dlq} without progress for 60 s"
        assert after(LONGEST_LOOK_S) == [told]
        dead.acked += 1
        lane.settle()
        assert after(LONGEST_LOOK_S) == []


class OneByOne(MemoryStore):
    """A store whose loads end when the test lets them."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = asyncio.Semaphore(0)

    async def load(self, topic: str, partition: int) -> Snapshot | None:
        """Load, when the test lets it."""
        await self.may_answer.acquire()
        return await super().load(topic, partition)


async def test_a_restore_is_given_time_from_its_turn_on(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads of a slow store are not a failure, however many wait for their turn; one that does not end is."""
    monkeypatch.setattr(ownership_module, "RESTORES", 1)
    store = OneByOne()
    async with rigged(stage, store) as rig:
        lanes = rig.engine.lanes
        await until(lambda: any(lane.placed for lane in lanes.values()), "one is restored")
        (first,) = [place for place, lane in lanes.items() if lane.placed]
        now, watch = _watched(rig)
        problems, load_s = list[str](), rig.engine.store.load_s

        def look(seconds: float) -> None:
            problems.extend(problem for problem in _after(seconds, now, watch) if "restoring" in problem)

        look(1)
        look(PATIENCE_S + load_s - 1)
        store.may_answer.release()
        await until(lambda: all(lane.placed for lane in lanes.values()), "the other is restored")
        look(1)
        look(PATIENCE_S + load_s - 1)
        assert problems == []
        look(2)
        (other,) = lanes.keys() - {first}
        told = f"{other.topic}/{other.partition}: state restoring without progress for {PATIENCE_S + load_s:g} s"
        assert problems == [f"{told} at offset 0"]


async def test_before_the_first_restore_nothing_but_kafka_is_waited_for(stage: Stage) -> None:
    """Every request to it has a deadline of its own, so there is less patience."""
    async with rigged(stage) as rig:
        await _live(rig)
        now, watch = _watched(rig)
        for lane in rig.engine.lanes.values():
            lane.phase, lane.placed = Phase.RESTORING, False
        assert list(watch.problems()) == []
        problems = _after(PATIENCE_S + 1, now, watch)
        assert all("state restoring without progress for 60 s" in problem for problem in problems)
        assert len(problems) == 2


async def test_a_broker_that_answers_nobody_is_found(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """No fetch of a partition is answered, the group has no coordinator, or does not let us in."""
    async with rigged(stage) as rig:
        await _live(rig)
        now, watch = _watched(rig)
        answered = {0: 1, 1: 1}
        monkeypatch.setattr(rig.engine.consumer, "last_poll_timestamp", lambda tp: answered[tp.partition])
        monkeypatch.setattr(rig.engine.consumer._coordinator, "coordinator_id", None)
        rig.engine.ownership.outside = True
        assert list(watch.problems()) == []
        assert _after(PATIENCE_S - 1, now, watch) == []
        answered[0] = 2
        assert _after(2, now, watch) == [
            "no coordinator of the group for 60 s",
            f"{stage.topics.tokens}/1: no answer to a fetch for 60 s",
        ]
        rebalance_s = stage.settings["kafka"]["rebalance_timeout_ms"] / 1000
        assert "no place in the group for 70 s" in _after(rebalance_s, now, watch)


async def test_what_was_not_looked_at_begins_anew(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A paused partition gets no answers; when it is resumed, its silence counts from then."""
    async with rigged(stage) as rig:
        await _live(rig)
        now, watch = _watched(rig)
        monkeypatch.setattr(rig.engine.consumer, "last_poll_timestamp", lambda _: 1)
        lanes = rig.engine.lanes.values()
        assert list(watch.problems()) == []
        for lane in lanes:
            lane.paused = True
        assert _after(PATIENCE_S - 1, now, watch) == []
        for lane in lanes:
            lane.paused = False
        assert _after(PATIENCE_S - 1, now, watch) == []
        assert len(_after(LONGEST_LOOK_S + 2, now, watch)) == 2


async def test_the_pulse_looks_and_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a look for every beat; the lag shows how late the loop was."""
    monkeypatch.setattr(watch_module, "LOOK_S", 0.01)
    numbers, lags = Numbers(), list[float]()
    pulse = Pulse(PATIENCE_S, numbers)
    pulse.watch()

    def look() -> None:
        lags.append(numbers.value("tokenmill_event_loop_lag_seconds"))
        if len(lags) == 1:
            asyncio.get_running_loop().call_soon(time.sleep, 0.5)

    beating = asyncio.create_task(pulse.beat(look))
    await until(lambda: len(lags) >= 3, "the loop turns")
    beating.cancel()
    pulse.stop()
    assert lags[1] > 0.4


BLOCKED = """
import asyncio, time
from tokenmill.observe import Numbers
from tokenmill.worker import watch
watch.LOOK_S = 0.05
async def main():
    pulse = watch.Pulse(0.3, Numbers())
    pulse.watch()
    beating = asyncio.create_task(pulse.beat(lambda: None))
    await asyncio.sleep(0.2)
    time.sleep(30)
asyncio.run(main())
"""


def test_an_event_loop_that_does_not_turn_ends_the_process() -> None:
    """With exit code 1, and where it hangs."""
    run = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, timeout=25, check=False)
    assert run.returncode == 1
    assert "the event loop has not turned for 0.3 s" in run.stderr
    assert "in main" in run.stderr


def test_it_does_so_if_nobody_reads_what_it_writes() -> None:
    """A log that nobody takes is what stops an event loop."""
    with unread_pipe() as log:
        run = subprocess.run([sys.executable, "-c", BLOCKED], stderr=log, timeout=25, check=False)
    assert run.returncode == 1
