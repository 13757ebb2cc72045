"""From assigned to live on a real Kafka, and back: what is parked, restored and reported."""

import asyncio

import pytest
from aiokafka import TopicPartition
from aiokafka.structs import OffsetAndMetadata

from tests.partition.logs import log
from tests.support.gate import Gate
from tests.support.rig import Rig, rigged, said
from tests.support.stage import Stage, until
from tokenmill.store import MemoryStore, Place
from tokenmill.worker.lane import Phase
from tokenmill.worker.restore import Plan

pytestmark = pytest.mark.integration


async def _talk(stage: Stage, rig: Rig, first: int, count: int) -> None:
    """Records of one message, on partition 0, parsed and acknowledged."""
    await rig.live()
    await said(stage, *({"message_id": "m", "seq": seq, "delta": "x"} for seq in range(first, first + count)))
    await rig.parsed(first + count)
    await rig.lane().drained()


async def _rebalance(stage: Stage, rig: Rig) -> None:
    """Have everything revoked and given back."""
    await rig.engine.ownership.on_partitions_revoked([])
    assert rig.engine.lanes == {}
    rig.engine.ownership.on_partitions_assigned([TopicPartition(stage.topics.tokens, n) for n in range(2)])
    await rig.live()


def _sources(rig: Rig) -> dict[int, str]:
    return {partition: source for partition, source, _ in rig.hooks.restores}


async def test_a_new_group_begins_at_the_first_record(stage: Stage) -> None:
    """And nothing is ready before that, not even before the worker has any partition."""
    await stage.send("c", {"message_id": "m", "seq": 0, "delta": "x"}, partition=0)
    ready: list[bool] = []
    async with rigged(stage, prepare=lambda engine: ready.append(engine.ready)) as rig:
        assert ready == [False]
        assert not rig.engine.ready or rig.hooks.restores
        await rig.live()
        assert sorted(rig.hooks.restores) == [(0, "empty", 0), (1, "empty", 0)]
        assert rig.engine.numbers.value("tokenmill_rebalances_total") == 1


async def test_snapshots_of_partitions_that_went_elsewhere_are_not_kept(stage: Stage) -> None:
    """Those that only this process has; the others stay, as their state may be needed."""
    store = MemoryStore()
    async with rigged(stage, store) as rig:
        await _talk(stage, rig, 0, 3)
        await rig.engine.ownership.on_partitions_revoked([])
        kept = TopicPartition(stage.topics.tokens, 0)
        await store.write_full(kept.topic, 1, await store.head(kept.topic, 1), Place(1, 1), b"", {})
        assert len(store._snapshots) == 2
        rig.engine.ownership.on_partitions_assigned([kept])
        assert list(store._snapshots) == [kept]
        assert list(rig.engine.ownership._parked) == [kept]
        assert list(rig.engine.ownership._lost_logs._last) == [kept]  # another worker has the state of others
        await rig.live()


async def test_state_is_kept_through_a_rebalance(stage: Stage) -> None:
    """Parked on revocation, used again because the broker still has exactly our commit."""
    async with rigged(stage) as rig:
        await _talk(stage, rig, 0, 3)
        before = rig.engine.lanes[TopicPartition(stage.topics.tokens, 0)]
        before.snapshots.overtaken = True
        await _rebalance(stage, rig)
        after = rig.engine.lanes[TopicPartition(stage.topics.tokens, 0)]
        assert after.partition is before.partition
        assert not after.snapshots.overtaken
        assert _sources(rig) == {0: "memory", 1: "memory"}
        assert rig.hooks.revocations == [0, 2]
        await _talk(stage, rig, 3, 2)
        assert rig.failures == []


async def test_state_of_a_partition_that_is_restored_later_is_kept_until_then(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of one whose outputs have fewer partitions: the end of another's restore does not concern it."""
    async with rigged(stage) as rig:
        await _talk(stage, rig, 0, 3)
        owner, outputs = rig.engine.ownership, rig.engine.output_partitions
        first, second = (TopicPartition(stage.topics.tokens, number) for number in range(2))
        await owner.on_partitions_revoked([])
        monkeypatch.setattr(outputs, "hold", lambda *_: {second})
        owner.on_partitions_assigned([first, second])
        await until(lambda: owner.lanes[first].phase is Phase.LIVE and not owner._restoring, "the other one is live")
        owner.let_go({second: owner.lanes[second]})
        await rig.live()
        assert _sources(rig) == {0: "memory", 1: "memory"}
        assert owner._parked == {}


async def test_a_partition_is_restored_by_one_task_whatever_happens_to_its_log_meanwhile(stage: Stage) -> None:
    """Otherwise each would start a producer, and one of them would never be stopped."""
    async with rigged(stage, delivery="exactly-once") as rig:
        await rig.live()
        owner, gate = rig.engine.ownership, Gate()
        before = list(rig.engine.lanes.values())
        await owner.on_partitions_revoked([])
        gate.before(rig.engine.delivery, "take_over")
        owner.on_partitions_assigned([lane.topic_partition for lane in before])
        await gate.reached()
        lanes = dict(rig.engine.lanes)
        await owner.begin_again([*before, *lanes.values()])
        assert rig.engine.lanes == lanes
        gate.open()
        await rig.live()
        assert rig.engine.lanes == lanes
        assert rig.failures == []


async def test_nothing_begins_while_all_is_given_up(stage: Stage) -> None:
    """Nobody would close what is begun then: its producer would stay, and fence the next one of its partition."""
    async with rigged(stage, delivery="exactly-once") as rig:
        await rig.live()
        owner, gate = rig.engine.ownership, Gate()
        lanes = list(rig.engine.lanes.values())
        gate.before(rig.engine.committer, "flush")
        beginning = asyncio.create_task(owner.begin_again(lanes))
        await gate.reached()
        giving_up = asyncio.create_task(owner.on_partitions_revoked([]))
        await until(lambda: owner.outside, "all is being given up")
        owner.restore_again(lanes[0])
        owner.let_go({lane.topic_partition: lane for lane in lanes})
        gate.open()
        await beginning
        assert len(owner._restoring) == 0
        await giving_up
        assert (rig.engine.lanes, [lane.phase for lane in lanes]) == ({}, [Phase.CLOSED] * 2)
        await until(lambda: rig.engine.delivery.producers() == [rig.engine.producer], "their producers are gone")
        assert rig.failures == []


async def test_a_restore_is_timed_from_its_own_begin(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not from the rebalance, which may be hours ago, nor from the begin of another partition's."""
    async with rigged(stage) as rig:
        await rig.live()
        first, second = (TopicPartition(stage.topics.tokens, number) for number in range(2))
        restores, now = rig.engine.numbers.histograms["tokenmill_restore_seconds"], [10_000.0]
        monkeypatch.setattr(rig.engine.ownership, "_clock", lambda: now[0])
        before = restores.total
        rig.engine.ownership.restore_again(rig.engine.lanes[first])
        now[0] += 30
        rig.engine.ownership.let_go({second: rig.engine.lanes[second]})
        now[0] += 1
        await rig.live()
        assert restores.total - before == 31 + 1


async def test_what_is_being_finished_reads_nothing_more(stage: Stage) -> None:
    """It may be of another log by now: neither after a pause for its outputs, nor what was read by then."""
    async with rigged(stage) as rig:
        await _talk(stage, rig, 0, 3)
        lane, gate = rig.lane(), Gate()
        rig.engine.pause(lane)
        gate.before(rig.engine.committer, "flush")
        beginning = asyncio.create_task(rig.engine.ownership.begin_again([lane]))
        await gate.reached()
        await stage.send("c", {"message_id": "m", "seq": 3, "delta": "x"}, partition=0)
        rig.engine.take(lane.topic_partition, log({"message_id": "m", "seq": 3, "delta": "y"}, start=3))
        for _ in range(3):
            assert await rig.turn() == 0
        assert lane.partition.offset == 3
        gate.open()
        await beginning
        await rig.settled(4)
        assert rig.lane() is not lane
        assert rig.failures == []


async def test_parked_state_is_not_believed_when_the_commit_moved(stage: Stage) -> None:
    """Another worker had the partition in between: it is restored from what the broker and the store have."""
    async with rigged(stage) as rig:
        await _talk(stage, rig, 0, 3)
        place = TopicPartition(stage.topics.tokens, 0)
        before = rig.engine.lanes[place].partition
        await rig.engine.ownership.on_partitions_revoked([])
        moved = rig.engine.ownership._parked[place].committed
        assert moved is not None
        await rig.engine.consumer.commit({place: OffsetAndMetadata(1, "")})
        rig.engine.ownership.on_partitions_assigned([place])
        await rig.live()
        assert rig.engine.lanes[place].partition is not before
        assert rig.hooks.restores[-1] == (0, "replay", 1)


async def test_what_is_not_committed_is_not_parked(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its outputs may not have arrived: its records are read again, from what the broker has."""
    async with rigged(stage) as rig:
        await _talk(stage, rig, 0, 3)
        await rig.commit()
        before = rig.lane()
        await _talk(stage, rig, 3, 1)

        async def too_late(*_: object) -> list[object]:
            return []

        with monkeypatch.context() as patch:
            patch.setattr(rig.engine.committer, "flush", too_late)
            await rig.engine.ownership.on_partitions_revoked([])
        rig.engine.ownership.on_partitions_assigned([before.topic_partition])
        await rig.live()
        assert rig.lane().partition is not before.partition
        assert rig.hooks.restores[-1] == (0, "replay", 3)


async def test_no_restore_outlives_its_assignment(stage: Stage) -> None:
    """It would make a partition live that is another's; nor does a failure of a lane of before begin one."""
    async with rigged(stage) as rig:
        await rig.live()
        owner, gate, places, stale = rig.engine.ownership, Gate(), list(rig.engine.lanes), rig.lane()
        await owner.on_partitions_revoked([])
        gate.before(rig.engine.delivery, "take_over")
        owner.on_partitions_assigned(places)
        await gate.reached()
        lanes = dict(rig.engine.lanes)
        owner.restore_again(stale)
        assert rig.engine.lanes == lanes
        await owner.on_partitions_revoked([])
        gate.open()
        assert len(owner._restoring) == 0


async def test_a_snapshot_and_the_records_after_it_give_the_state(stage: Stage) -> None:
    """The next owner begins at the snapshot's offset and replays silently up to the commit."""
    store = MemoryStore()
    async with rigged(stage, store) as rig:
        await _talk(stage, rig, 0, 3)
        await rig.engine.ownership.give_up(10)
    async with rigged(stage) as rig:  # its store has nothing
        await _talk(stage, rig, 3, 2)
        await rig.commit()
        assert _sources(rig)[0] == "replay"
    published = len(await stage.events())
    async with rigged(stage, store) as rig:
        await rig.live()
        lane = rig.engine.lanes[TopicPartition(stage.topics.tokens, 0)]
        assert (_sources(rig)[0], lane.partition.offset, lane.partition.open_messages) == ("redis", 5, 1)
        assert rig.engine.numbers.value("tokenmill_records_replayed_total") == 2
        assert rig.hooks.replays == [(0, 2)]
        assert rig.engine.numbers.value("tokenmill_replay_mismatches_total") == 0
    assert len(await stage.events()) == published


async def test_a_state_that_is_not_what_was_committed_is_an_error(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """Count and hash are compared after a replay; a mismatch is counted and logged. Then no snapshot is used."""
    store = MemoryStore()
    async with rigged(stage, store) as rig:
        await _talk(stage, rig, 0, 3)
        await rig.commit()
        await rig.snapshot()
        lane = rig.engine.lanes[TopicPartition(stage.topics.tokens, 0)]
        assert lane.committed is not None
        wrong = lane.committed.encode().replace('"count":1', '"count":2')
        await rig.engine.consumer.commit({lane.topic_partition: OffsetAndMetadata(3, wrong)})
    async with rigged(stage, store) as rig:
        await rig.live()
        assert rig.engine.numbers.value("tokenmill_replay_mismatches_total") == 2
        assert _sources(rig)[0] == "replay"
    assert "replay gave" in caplog.text


async def test_an_unreadable_snapshot_is_replaced_by_a_replay(stage: Stage) -> None:
    """Of another schema version, for instance."""
    store = MemoryStore()
    async with rigged(stage, store) as rig:
        await _talk(stage, rig, 0, 3)
        await rig.engine.ownership.give_up(10)
    for snapshot in store._snapshots.values():
        snapshot.fields.clear()
    store._snapshots = {
        place: type(snapshot)(snapshot.head, b"of another time", {}) for place, snapshot in store._snapshots.items()
    }
    async with rigged(stage, store) as rig:
        await rig.live()
        assert _sources(rig)[0] == "replay"


async def test_a_replay_ends_though_its_last_records_are_gone(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The consumer's position is past the committed offset: nothing below it will come any longer."""
    async with rigged(stage) as rig:
        await _talk(stage, rig, 0, 3)
        await rig.commit()
        place = TopicPartition(stage.topics.tokens, 0)
        lane = rig.engine.lanes[place]
        lane.phase = Phase.REPLAYING
        assert lane.committed is not None
        later = lane.committed.__class__(offset=9, low_water=0, fingerprint="other")
        lane.partition.begin_replay(later, lossy=False)
        rig.engine.ownership._plans[place] = Plan("replay", 0, later)
        seen = []
        for position in (8, 9):
            monkeypatch.setattr(rig.engine, "position", lambda _, position=position: position)
            rig.engine.balance()
            seen.append((lane.phase, rig.engine.ready))
        assert seen == [(Phase.REPLAYING, False), (Phase.LIVE, True)]
        assert lane.partition.offset == 9


async def test_a_record_behind_the_commit_ends_the_replay_and_is_new(stage: Stage) -> None:
    """The last ones before it are gone."""
    async with rigged(stage) as rig:
        await _talk(stage, rig, 0, 3)
        lane = rig.lane()
        lane.phase = Phase.REPLAYING
        ahead = lane.partition.mark().__class__(offset=9, low_water=0, fingerprint="other")
        lane.partition.begin_replay(ahead, lossy=False)
        rig.engine.ownership._plans[lane.topic_partition] = Plan("replay", 0, ahead)
        old, new = log({"message_id": "m", "seq": 3}, start=3), log({"message_id": "m", "seq": 9}, start=9)
        rig.engine.take(lane.topic_partition, [*old, *new])
        assert (lane.phase, lane.partition.offset) == (Phase.LIVE, 10)
        assert rig.engine.numbers.value("tokenmill_records_replayed_total") == 1


async def test_a_replay_keeps_no_note_of_what_it_has_passed(stage: Stage) -> None:
    """It may take a day of records: neither messages that are gone are kept, nor what would have been counted."""
    async with rigged(stage) as rig:
        await rig.live()
        place = TopicPartition(stage.topics.tokens, 0)
        lane = rig.engine.lanes[place]
        lane.phase = Phase.REPLAYING
        ahead = lane.partition.mark().__class__(offset=90_000, low_water=0, fingerprint="other")
        lane.partition.begin_replay(ahead, lossy=False)
        rig.engine.ownership._plans[place] = Plan("replay", 0, ahead)
        held = []
        for start in range(0, 3_000, 1_000):
            ends = ({"message_id": str(number), "delta": "x", "end": True} for number in range(start, start + 1_000))
            assert rig.engine.ownership.replay(lane, log(*ends, start=start)) == []
            held += [len(lane.partition._messages._touched), len(lane.partition.tally.opened)]
        assert lane.partition.offset == 3_000
        assert max(held) == 0
        assert lane.phase is Phase.REPLAYING


async def test_what_the_topic_no_longer_holds_is_decided_anew(stage: Stage) -> None:
    """The consumer was to read what retention has deleted: the lane begins again where the topic does."""
    async with rigged(stage) as rig:
        await _talk(stage, rig, 0, 3)
        await rig.commit()
        place = TopicPartition(stage.topics.tokens, 0)
        old = rig.engine.lanes[place]
        await stage.delete_records(0, 3)
        for seq in range(3, 6):
            await stage.send("c", {"message_id": "m", "seq": seq, "delta": "x"}, partition=0)
        await stage.delete_records(0, 5)
        rig.engine.consumer.seek(place, 3)

        async def renewed() -> bool:
            await rig.turn()
            return rig.engine.lanes[place] is not old and rig.engine.ready

        await until(renewed, "a new lane is live")
        assert rig.engine.numbers.value("tokenmill_records_lost_total") == 2
        assert rig.failures == []


async def test_what_goes_wrong_in_a_callback_is_not_swallowed(stage: Stage) -> None:
    """The client would log it and continue without us."""
    async with rigged(stage) as rig:
        await rig.live()

        async def broken(*_: object) -> list[object]:
            raise RuntimeError("flush is broken")

        rig.engine.committer.flush = broken  # type: ignore[method-assign, assignment] # to break it
        await rig.engine.ownership.on_partitions_revoked([])
        rig.engine.ownership.on_partitions_assigned([TopicPartition("never subscribed", 0)])
        assert [type(problem).__name__ for problem in rig.failures] == ["RuntimeError", "IllegalStateError"]


@pytest.mark.parametrize(
    ("phase", "function"), [(Phase.LIVE, "take_over"), (Phase.REPLAYING, "take_over"), (Phase.LIVE, "load")]
)
async def test_a_restore_that_fails_ends_the_worker_with_its_reason(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, phase: Phase, function: str
) -> None:
    """Its partition would stay unread. A replay begins again, too, where the log does not hold what it was to read."""
    store = MemoryStore()
    async with rigged(stage, store) as rig:
        await rig.live()

        async def broken(*_: object) -> None:
            raise RuntimeError("it is broken")

        rig.lane().phase = phase
        monkeypatch.setattr(store if function == "load" else rig.engine.delivery, function, broken)
        await rig.engine.ownership.begin_again([rig.lane()])
        await until(lambda: rig.failures, "it is reported")
        assert [str(problem) for problem in rig.failures] == ["it is broken"]
