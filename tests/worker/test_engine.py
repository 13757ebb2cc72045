"""The cycle on a real Kafka, turned by hand: reading, pausing, what becomes of tasks, ending."""

import asyncio

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import GroupAuthorizationFailedError, NoOffsetForPartitionError

from tests.support.gate import Gate
from tests.support.rig import Rig, rigged
from tests.support.stage import Stage, until
from tokenmill.errors import FatalError
from tokenmill.worker import engine as engine_module

pytestmark = pytest.mark.integration


async def _live(rig: Rig) -> None:
    await until(lambda: rig.engine.ready, "every partition is live")


async def test_a_started_engine_reads_publishes_and_commits(stage: Stage) -> None:
    """By itself, until it is drained; then it is not ready any more."""
    async with rigged(stage, commit_interval_ms=20) as rig:
        rig.engine.start()
        await _live(rig)
        await stage.send_all(("c", {"message_id": "m", "seq": seq, "delta": "x"}) for seq in range(100))
        await until(stage.caught_up, "everything is committed")
        await rig.engine.drain(10)
        assert not rig.engine.ready
        assert rig.failures == []
    assert await stage.found() == await stage.expected()


async def test_an_engine_that_is_closed_takes_nothing_over_any_more(stage: Stage) -> None:
    """Else a producer that it starts then is one that nobody stops."""
    async with rigged(stage, delivery="exactly-once") as rig:
        await _live(rig)
        places, gate = list(rig.engine.lanes), Gate()
        await rig.engine.ownership.on_partitions_revoked([])
        gate.before(rig.engine.delivery, "take_over")
        rig.engine.ownership.on_partitions_assigned(places)
        await gate.reached()
        await rig.engine.close()
        gate.open()
        assert rig.engine.delivery.producers() == [rig.engine.producer]
        assert rig.engine.ownership._restoring == set()


async def test_a_partition_whose_outputs_pile_up_is_paused(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """And resumed when half of it is through."""
    async with rigged(stage) as rig:
        await _live(rig)
        place = TopicPartition(stage.topics.tokens, 0)
        await stage.send("c", {"message_id": "m", "seq": 0, "delta": "x"}, partition=0)
        while not rig.engine.lanes[place].in_flight:
            monkeypatch.setattr(engine_module, "LANE_UNACKED_BYTES", 10)
            await rig.turn()
        assert place in rig.engine.consumer.paused()
        await rig.engine.lanes[place].drained()
        rig.engine.balance()
        # What is paused is no longer in flight, so nothing but the pause itself brings it back.
        assert place not in rig.engine.consumer.paused()


@pytest.mark.parametrize("problem", [GroupAuthorizationFailedError("group"), RuntimeError("the handler is closed")])
async def test_errors_of_the_client_are_waited_out_and_then_fatal(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    """The client raises them at once and again and again; also what becomes of its heartbeats under uvloop."""
    monkeypatch.setattr(engine_module, "READ_ERROR_PAUSE_S", 0)
    async with rigged(stage, stall_timeout_s=60) as rig:
        await _live(rig)
        now = [1.0]
        rig.engine.clock = lambda: now[0]

        async def refused(**_: object) -> None:
            raise problem

        monkeypatch.setattr(rig.engine.consumer, "getmany", refused)
        assert await rig.engine.read() == {}
        now[0] = 62
        with pytest.raises(FatalError, match="reading has failed for 61 s"):
            await rig.engine.read()


async def test_a_mistake_of_ours_is_no_error_of_the_client(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends the worker."""
    async with rigged(stage) as rig:
        await _live(rig)

        async def mistaken(**_: object) -> None:
            raise RuntimeError("a mistake")

        monkeypatch.setattr(rig.engine.consumer, "getmany", mistaken)
        with pytest.raises(RuntimeError, match="a mistake"):
            await rig.engine.read()


async def test_a_partition_without_a_commit_is_no_error(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client says so while the lane is about to decide where to begin."""
    async with rigged(stage) as rig:
        await _live(rig)

        async def none(**_: object) -> None:
            raise NoOffsetForPartitionError(TopicPartition("tokens", 0))

        monkeypatch.setattr(rig.engine.consumer, "getmany", none)
        assert await rig.engine.read() == {}


async def test_records_of_a_partition_that_is_not_ours_are_ignored(stage: Stage) -> None:
    """They may have been on their way when it was revoked."""
    async with rigged(stage) as rig:
        await _live(rig)
        rig.engine.take(TopicPartition("tokens", 77), [])
        assert rig.failures == []


async def test_a_task_that_ends_is_a_failure(stage: Stage) -> None:
    """Whether it returns, is cancelled or raises: nobody would do its work."""
    async with rigged(stage) as rig:

        async def returns() -> None:
            return

        async def raises() -> None:
            raise RuntimeError("broken")

        await rig.engine.watched(returns(), "returning")
        await rig.engine.watched(raises(), "raising")
        cancelled = rig.engine.watched(asyncio.Event().wait(), "cancelled")  # type: ignore[arg-type] # never returns
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.wait([cancelled])
        assert [str(problem) for problem in rig.failures] == [
            "task 'returning' returned",
            "broken",
            "task 'cancelled' was cancelled",
        ]


async def test_position_and_end_are_what_the_client_knows(stage: Stage) -> None:
    """Lag is between them; of a partition that is not ours there is none."""
    async with rigged(stage) as rig:
        await _live(rig)
        place = TopicPartition(stage.topics.tokens, 0)
        await stage.send("c", {"message_id": "m", "delta": "x"}, partition=0)
        while rig.engine.position(place) < 1:
            await rig.turn()
        assert rig.engine.end(place) == 1
        assert rig.engine.end(TopicPartition("other", 0)) is None
