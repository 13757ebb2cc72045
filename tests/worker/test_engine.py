"""The cycle on a real Kafka, turned by hand: reading, pausing, what becomes of tasks, ending."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import PartitionRecords
from aiokafka.errors import CorruptRecordException, GroupAuthorizationFailedError, NoOffsetForPartitionError

from tests.support.gate import Gate
from tests.support.rig import Rig, rigged, said, words
from tests.support.stage import Stage, until
from tokenmill.errors import FatalError
from tokenmill.kafka.header_names import Fetched
from tokenmill.worker import engine as engine_module
from tokenmill.worker.lane import Phase
from tokenmill.worker.watch import LONGEST_LOOK_S, Watch

pytestmark = pytest.mark.integration


async def _live(rig: Rig) -> None:
    await until(lambda: rig.engine.ready, "every partition is live")


async def _one_read(rig: Rig, stage: Stage) -> TopicPartition:
    """Return the partition from which a record was read."""
    await _live(rig)
    place = TopicPartition(stage.topics.tokens, 0)
    await stage.send("c", {"message_id": "m", "delta": "x"}, partition=0)
    while rig.engine.position(place) < 1:
        await rig.turn()
    return place


async def test_a_started_engine_reads_publishes_and_commits(stage: Stage) -> None:
    """By itself, until it is drained; then it is no longer ready."""
    async with rigged(stage, commit_interval_ms=20) as rig:
        rig.engine.start()
        await _live(rig)
        await stage.send_all(("c", {"message_id": "m", "seq": seq, "delta": "x"}) for seq in range(100))
        await until(stage.caught_up, "everything is committed")
        await rig.engine.drain(10)
        assert not rig.engine.ready
        assert rig.engine.consumer._closed
        assert rig.failures == []
    assert await stage.found() == await stage.expected()


async def test_others_have_their_turn_within_what_was_read(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each record may take long."""
    _in_single_records(monkeypatch)
    async with rigged(stage) as rig:
        await _live(rig)
        await said(stage, *words("m", *"0123456789"))
        seen, lane = set[int](), rig.lane()
        rig.engine.start()
        while lane.partition.offset < 10:
            seen.add(lane.partition.offset)
            await _a_turn()
        assert seen == set(range(10))


async def test_a_partition_that_is_placed_anew_meanwhile_reads_the_rest_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And gets it once."""
    async with _half_taken(stage, monkeypatch) as rig:
        lane = rig.lane()
        rig.engine.ownership._read_from(lane, 5)
        await until(lambda: rig.engine.caught_up(lane.topic_partition), "all is parsed")
        await rig.engine.drain(10)
        assert rig.engine.numbers.value("tokenmill_records_consumed_total") == 10
    assert await stage.found() == await stage.expected()


async def test_what_is_read_and_not_parsed_is_not_caught_up(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The consumer is past it already: a message would look idle, and the lag like none."""
    async with _half_taken(stage, monkeypatch) as rig:
        lane = rig.lane()
        place = lane.topic_partition
        assert (rig.engine.position(place), rig.engine.caught_up(place)) == (5, False)
        await until(lambda: rig.engine.caught_up(place), "all is parsed")
        assert lane.partition.offset == 10


async def test_what_is_given_up_takes_nothing_more_of_what_was_read(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a state could be parked that is ahead of its commit: outputs of what is between would be lost."""
    async with _half_taken(stage, monkeypatch) as rig:
        lane, gate, places = rig.lane(), Gate(), list(rig.engine.lanes)
        gate.before(rig.engine.committer, "flush")
        giving_up = asyncio.create_task(rig.engine.ownership.on_partitions_revoked([]))
        await gate.reached()
        await until(lambda: rig.engine.position(lane.topic_partition) == 10, "the rest is passed over")
        assert lane.partition.offset == 5
        gate.open()
        await giving_up
        rig.engine.ownership.on_partitions_assigned(places)
        await until(lambda: rig.lane().partition.offset == 10, "all is parsed")
        await rig.engine.drain(10)
        assert (0, "memory", 5) in rig.hooks.restores
        assert rig.failures == []
    assert await stage.found() == await stage.expected()


async def test_a_header_may_have_no_value(stage: Stage) -> None:
    """Kafka allows it: one such record would end each worker that gets its partition."""
    async with rigged(stage) as rig:
        await _live(rig)
        rig.engine.start()
        headers: Any = [("h", None)]
        await stage.send("c", {"message_id": "m", "delta": "x"}, headers, partition=0)
        await until(lambda: rig.lane().partition.offset == 1 or rig.failures, "it is parsed")
        assert rig.failures == []
        await rig.engine.drain(10)


def _in_single_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an engine pause before each record."""
    for name, value in (("PIECE_BYTES", 1), ("TURN_S", 0.0)):
        monkeypatch.setattr(engine_module, name, value)


@asynccontextmanager
async def _half_taken(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Rig]:
    """An engine in a pause: it has read ten records at once, and taken five."""
    _in_single_records(monkeypatch)
    async with rigged(stage) as rig:
        await _live(rig)
        await said(stage, *words("m", *"0123456789"))
        lane = rig.lane()
        rig.engine.start()
        while lane.partition.offset != 5:
            await _a_turn()
        yield rig


async def _a_turn() -> None:
    await asyncio.sleep(0)


async def test_an_engine_that_is_closed_takes_nothing_over_any_more(stage: Stage) -> None:
    """Otherwise nobody would stop a producer that it starts then."""
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
        assert len(rig.engine.ownership._restoring) == 0


async def test_a_partition_whose_outputs_pile_up_is_paused(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """And resumed when half of it is acknowledged."""
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
        # Its output is no longer in flight, so only the pause brings it back.
        assert place not in rig.engine.consumer.paused()


@pytest.mark.parametrize("problem", [GroupAuthorizationFailedError("group"), RuntimeError("the handler is closed")])
async def test_errors_of_the_client_are_waited_out_and_then_fatal(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    """The client raises them immediately, again and again; also what becomes of its heartbeats under uvloop."""
    monkeypatch.setattr(engine_module, "READ_ERROR_PAUSE_S", 0)
    async with rigged(stage, stall_timeout_s=60) as rig:
        await _live(rig)
        now = [1.0]
        rig.engine.clock = lambda: now[0]

        async def refused(**_: object) -> None:
            raise problem

        async def nothing(**_: object) -> dict[TopicPartition, list[object]]:
            return {}

        monkeypatch.setattr(rig.engine.consumer, "getmany", refused)
        assert await rig.engine.read() == {}
        now[0] = 62
        with pytest.raises(FatalError, match="reading has failed for 61 s"):
            await rig.engine.read()
        with monkeypatch.context() as again:
            again.setattr(rig.engine.consumer, "getmany", nothing)
            await rig.engine.read()
        assert await rig.engine.read() == {}  # failures count from the last read that did not fail


async def test_what_came_before_an_error_is_read_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client drops the records of a partition when the next one's batch is broken, and reports a wrong position."""
    monkeypatch.setattr(engine_module, "READ_ERROR_PAUSE_S", 0)
    async with rigged(stage) as rig:
        await _live(rig)
        first, second = places = [TopicPartition(stage.topics.tokens, number) for number in range(2)]
        await stage.send("c", {"message_id": "m", "seq": 0, "delta": "x"}, partition=0)
        await rig.parsed(1)
        for seq in range(1, 3):
            await stage.send("c", {"message_id": "m", "seq": seq, "delta": "x"}, partition=0)
        await stage.send("d", {"message_id": "m", "seq": 0, "delta": "x"}, partition=1)
        fetched = rig.engine.consumer._fetcher._records
        await until(lambda: len(fetched) == len(places), "both are fetched")
        fetched[second] = fetched.pop(second)  # they are read in this order
        batch = fetched[second]._partition_records
        batch._records = Fetched(batch._records.data[:-1] + b"?")
        assert await rig.turn() == 0
        assert rig.engine.position(first) == 1

        async def read() -> bool:
            await rig.turn()
            return [rig.engine.lanes[place].partition.offset for place in places] == [3, 1]

        await until(read, "all is read", 20)


async def test_an_error_moves_nothing_that_was_given(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A position after a transaction's marker, which is no record, stays: the log may have lost what is before it."""
    monkeypatch.setattr(engine_module, "READ_ERROR_PAUSE_S", 0)
    async with rigged(stage) as rig:
        place = await _one_read(rig, stage)
        rig.engine.consumer.seek(place, 2)

        async def refused(**_: object) -> None:
            raise GroupAuthorizationFailedError("group")

        monkeypatch.setattr(rig.engine.consumer, "getmany", refused)
        await rig.turn()
        assert rig.engine.position(place) == 2


async def test_a_batch_that_stays_broken_ends_the_worker(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although others are read meanwhile: its own partition makes no progress."""
    monkeypatch.setattr(engine_module, "READ_ERROR_PAUSE_S", 0)
    async with rigged(stage) as rig:
        await _live(rig)
        broken = TopicPartition(stage.topics.tokens, 1)
        unpack = PartitionRecords._unpack_records

        def unpacked(batch: Any) -> Any:
            if batch._tp == broken:
                raise CorruptRecordException(f"Invalid CRC - {broken}")
            yield from unpack(batch)

        monkeypatch.setattr(PartitionRecords, "_unpack_records", unpacked)
        await stage.send("d", {"message_id": "m", "seq": 0, "delta": "x"}, partition=1)
        now = [0.0]
        rig.engine.clock = lambda: now[0]
        watch, problems = Watch(rig.engine, 60), list[str]()
        for seq in range(8):
            await stage.send("c", {"message_id": "m", "seq": seq, "delta": "x"}, partition=0)
            await rig.parsed(seq + 1)
            await until(lambda: rig.engine.end(broken) == 1, "its record is fetched")
            await rig.lane().drained()
            problems += watch.problems()
            now[0] += LONGEST_LOOK_S
        assert problems == [f"{broken.topic}/1: lag without progress for 60 s at offset 0"]


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
    """The client raises this while the lane is about to decide where to begin."""
    async with rigged(stage) as rig:
        await _live(rig)

        async def none(**_: object) -> None:
            raise NoOffsetForPartitionError(TopicPartition("tokens", 0))

        monkeypatch.setattr(rig.engine.consumer, "getmany", none)
        assert await rig.engine.read() == {}


async def test_a_partition_that_is_given_up_is_not_restored_any_more(stage: Stage) -> None:
    """Its last records are sent, and then it is another's."""
    async with rigged(stage) as rig:
        await _live(rig)
        (place, lane), *_ = rig.engine.lanes.items()
        lane.phase, lane.ending = Phase.FAILED, True
        rig.engine.balance()
        assert rig.engine.lanes[place] is lane
        lane.ending = False
        rig.engine.balance()
        assert rig.engine.lanes[place] is not lane


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


async def test_position_and_end_are_what_the_client_knows(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lag is the difference; a partition that is not ours has none, and an open transaction is not part of it."""
    async with rigged(stage) as rig:
        place = await _one_read(rig, stage)
        assert (rig.engine.end(place), rig.engine.uncommitted(place), rig.engine.caught_up(place)) == (1, 0, True)
        monkeypatch.setattr(rig.engine.consumer, "highwater", lambda _: 3)
        assert (rig.engine.end(place), rig.engine.uncommitted(place), rig.engine.caught_up(place)) == (1, 2, True)
        monkeypatch.setattr(rig.engine.consumer, "last_stable_offset", lambda _: 2)
        assert (rig.engine.end(place), rig.engine.caught_up(place)) == (2, False)
        assert rig.engine.end(TopicPartition("other", 0)) is None
