"""Where a replay begins and what it can give, as a table."""

import asyncio
from typing import Any

import msgspec
import pytest

from tokenmill.kafka.topic_log import Extent
from tokenmill.partition import LogId, Mark, Move, Partition, PartitionSettings
from tokenmill.partition import rebuild as partition_rebuild
from tokenmill.records import InputRecord
from tokenmill.store import Head, Snapshot
from tokenmill.worker.positions import Committed
from tokenmill.worker.restore import Plan, plan, rebuild, still_committed

LOG = LogId("cluster", "topic")
MARK = Mark(offset=100, low_water=60, fingerprint="ours", count=2, digest=7)
KNOWN = msgspec.structs.replace(MARK, log=LOG, epoch=4)
WHOLE = Extent(0, 200)

MESSAGES = 10


def _plan(mark: Mark | None = MARK, extent: Extent = WHOLE, snapshot: int | None = None, offset: int = 100) -> Plan:
    return plan(Committed(offset, mark), extent, snapshot, "ours")


def _planned(source: str, start: int, **more: Any) -> Plan:
    return Plan(source, start, MARK, check=True, **more)


def test_without_a_commit_everything_is_new() -> None:
    """A new group, or a new partition: from the first record that there is."""
    chosen = plan(None, Extent(20, 200), 50, "ours")
    assert (chosen.source, chosen.start, chosen.mark.offset, chosen.lossy) == ("empty", 20, 20, False)


def test_without_a_snapshot_the_replay_begins_at_the_low_water_mark() -> None:
    """From an empty state, up to the committed offset."""
    assert _plan() == _planned("replay", 60)


@pytest.mark.parametrize("offset", [60, 80, 100])
def test_a_snapshot_between_low_water_and_commit_is_used(offset: int) -> None:
    """The replay begins at its offset."""
    assert _plan(snapshot=offset) == _planned("redis", offset)


@pytest.mark.parametrize("offset", [101, 150])
def test_a_snapshot_beyond_the_commit_is_ignored(offset: int) -> None:
    """It includes records whose outputs may not have been published."""
    assert _plan(snapshot=offset).source == "replay"


def test_a_snapshot_below_the_low_water_mark_is_ignored() -> None:
    """An empty state is right, too, and the replay is shorter."""
    assert _plan(snapshot=59) == _plan()


def test_a_snapshot_whose_records_are_gone_is_ignored() -> None:
    """From there to the commit could not be read."""
    assert _plan(extent=Extent(90, 200), snapshot=80) == _planned("replay", 90, lossy=True)


def test_a_snapshot_at_the_commit_needs_no_record() -> None:
    """Even if the topic holds none below, or dropped some that were never processed: those are counted."""
    assert _plan(extent=Extent(100, 200), snapshot=100) == _planned("redis", 100)
    assert _plan(extent=Extent(130, 200), snapshot=100) == _planned("redis", 100, lost=30)


def test_a_low_water_mark_that_the_topic_no_longer_holds_makes_the_replay_lossy() -> None:
    """What is there is read; messages without their beginning will be announced."""
    assert _plan(extent=Extent(70, 200)) == _planned("replay", 70, lossy=True)


def test_a_low_water_mark_that_is_the_first_record_loses_nothing() -> None:
    """All that is alive can be rebuilt from there."""
    assert _plan(extent=Extent(60, 200)) == _planned("replay", 60)


def test_nothing_open_is_nothing_to_restore() -> None:
    """The low-water mark is the commit itself."""
    mark = Mark(offset=100, low_water=100, fingerprint="ours")
    assert _plan(mark) == Plan("empty", 100, mark, check=True)


def test_a_commit_without_a_mark_knows_of_no_open_message() -> None:
    """An administrator set the offset: a snapshot below helps, else the state is empty, and nothing can be checked."""
    bare = Mark(offset=100, low_water=100, fingerprint="ours")
    assert _plan(None) == Plan("empty", 100, bare)
    assert _plan(None, snapshot=30) == Plan("redis", 30, bare)


@pytest.mark.parametrize(("move", "then"), [(Move(), Move(done=80)), (Move(done=70), Move(done=70))])
def test_how_far_it_was_before_an_offset_that_was_set_may_be_in_a_snapshot_alone(move: Move, then: Move) -> None:
    """What the output shows is exact. The mark is made up, so nothing is checked by it."""
    chosen = plan(Committed(100, MARK, move), WHOLE, 80, "ours")
    assert (chosen.move, chosen.check) == (then, False)
    assert plan(Committed(100, MARK, move), WHOLE, None, "ours").move == move


def test_a_commit_beyond_the_end_of_a_log_without_id() -> None:
    """It was made again or lost its end, and nothing shows which: begin at its first record, count what is missing."""
    chosen = _plan(extent=Extent(5, 40))
    assert chosen.change == "unknown"
    assert (chosen.source, chosen.start, chosen.mark.offset, chosen.lost) == ("empty", 5, 5, 60)


def test_a_commit_of_another_log_means_nothing() -> None:
    """The topic was made again, longer than before or not: begin at its first record, without the snapshot."""
    for other in (LogId("cluster", "made anew"), LogId("other")):
        chosen = _plan(KNOWN, Extent(5, 400, other, epoch=0), snapshot=80)
        fresh = Mark(offset=5, low_water=5, fingerprint="ours")
        assert chosen == Plan("empty", 5, fresh, log=other, change="another")


def test_a_log_that_lost_its_end_is_gone_on_with_from_there() -> None:
    """With a snapshot from before that offset nothing of the state is lost; without one, beginnings may be missing."""
    extent = Extent(0, 80, LOG, epoch=7)
    cut = LogId("cluster", "topic", 7)
    left = msgspec.structs.replace(KNOWN, offset=80)
    assert _plan(KNOWN, extent, 70) == Plan("redis", 70, left, lost=20, log=cut, epoch=7, change="cut")
    assert _plan(KNOWN, extent, 90) == Plan("replay", 60, left, lossy=True, lost=20, log=cut, epoch=7, change="cut")
    assert _plan(KNOWN, extent, 50).source == "redis"


def test_what_was_announced_of_lost_records_was_not() -> None:
    """Others are written in their place, and nothing was yet missed or seen of them."""
    known = msgspec.structs.replace(KNOWN, announced=((10, 80), (20, 90)), unseen_until=90, foreign_until=85)
    left = _plan(known, Extent(0, 80, LOG, epoch=7), 70).mark
    assert (left.announced, left.unseen_until, left.foreign_until) == (((10, 80),), 80, 80)
    before = msgspec.structs.replace(KNOWN, unseen_until=70, foreign_until=75)
    left = _plan(before, Extent(0, 80, LOG, epoch=7), 70).mark
    assert (left.unseen_until, left.foreign_until) == (70, 75)


def test_a_log_that_has_other_records_there_lost_its_end_too() -> None:
    """It is longer again than what was committed: the leaders' epochs show where the two part."""
    chosen = _plan(KNOWN, Extent(0, 400, LOG, epoch=7, shared=90))
    assert (chosen.start, chosen.mark.offset, chosen.lost, chosen.change) == (60, 90, 10, "cut")


def test_the_branch_goes_on() -> None:
    """A log that was cut once keeps that mark, whoever leads."""
    cut = LogId("cluster", "topic", 7)
    chosen = _plan(msgspec.structs.replace(KNOWN, log=cut), Extent(0, 400, LOG, epoch=9, shared=100))
    assert (chosen.log, chosen.epoch, chosen.change) == (cut, 4, "")


def test_records_that_were_never_processed_are_counted_when_gone() -> None:
    """The topic begins after the commit: the worker was away for longer than the records are kept."""
    chosen = _plan(extent=Extent(150, 200))
    assert (chosen.start, chosen.lossy, chosen.lost) == (100, True, 50)


@pytest.mark.parametrize(("first", "still"), [(60, True), (100, True), (101, False)])
def test_parked_state_goes_on_where_nothing_behind_it_is_gone(first: int, still: bool) -> None:
    """Otherwise it has to be announced what was lost."""
    assert still_committed(MARK, Committed(100, MARK), Extent(first, 200)) is still
    assert not still_committed(MARK, Committed(101, None), Extent(first, 200))
    assert not still_committed(MARK, None, Extent(first, 200))
    assert not still_committed(None, Committed(100, None), Extent(first, 200))


def test_parked_state_is_not_that_of_another_log() -> None:
    """Which is longer than the commit, and lacks nothing."""
    assert still_committed(KNOWN, Committed(100, KNOWN), Extent(0, 200, LOG, epoch=4))
    assert not still_committed(KNOWN, Committed(100, KNOWN), Extent(0, 200, LogId("cluster", "made anew"), epoch=0))


def _snapshot(meta: bytes | None = None) -> Snapshot:
    """A snapshot of an empty partition at offset 80."""
    write = Partition(PartitionSettings(), "tokens", 0, 80).changes(full=True)
    return Snapshot(Head("g", 1, 80, len(write.changed)), write.meta if meta is None else meta, write.changed)


def _committed(offset: int) -> Committed:
    return Committed(offset, Mark(offset=offset, low_water=60, fingerprint=PartitionSettings().fingerprint()))


async def test_the_partition_is_the_snapshots_where_that_is_used() -> None:
    """It stands at the snapshot's offset, and nothing is refused."""
    found = await rebuild(PartitionSettings(), ("tokens", 0), _committed(100), WHOLE, _snapshot())
    assert (found.plan.source, found.partition.offset, found.refused) == ("redis", 80, "")


async def test_a_partition_from_a_snapshot_is_of_the_log_as_it_is_now() -> None:
    """Its commits say so: the snapshot is from before the log was cut."""
    mark = msgspec.structs.replace(KNOWN, fingerprint=PartitionSettings().fingerprint())
    state = Partition(PartitionSettings(), "tokens", 0, 80)
    state.log, state.epoch = LOG, 4
    write = state.changes(full=True)
    snapshot = Snapshot(Head("g", 1, 80, len(write.changed)), write.meta, write.changed)
    extent = Extent(0, 90, LOG, epoch=7)
    found = await rebuild(PartitionSettings(), ("tokens", 0), Committed(100, mark), extent, snapshot)
    assert found.plan.source == "redis"
    assert (found.partition.log, found.partition.epoch) == (LogId("cluster", "topic", 7), 7)


async def test_the_partition_is_empty_where_the_snapshot_is_not_used() -> None:
    """It is ahead of the commit, or unreadable: the partition stands at the low-water mark, and the reason is given."""
    ahead = await rebuild(PartitionSettings(), ("tokens", 0), _committed(70), WHOLE, _snapshot())
    torn = await rebuild(PartitionSettings(), ("tokens", 0), _committed(100), WHOLE, _snapshot(b"?"))
    assert [(found.plan.source, found.partition.offset) for found in (ahead, torn)] == [("replay", 60)] * 2
    assert ahead.refused == "it is of offset 80, which does not lead to 70"
    assert "can't be read" in torn.refused


async def test_without_a_snapshot_nothing_is_refused() -> None:
    """There was no snapshot to refuse."""
    found = await rebuild(PartitionSettings(), ("tokens", 0), _committed(100), WHOLE, None)
    assert found.refused == ""


async def test_a_restore_does_not_hold_up_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a partition is built from its snapshot, the loop turns: for live partitions, heartbeats, time-outs."""
    monkeypatch.setattr(partition_rebuild, "STEP", 1)
    state = Partition(PartitionSettings(), "tokens", 0)
    chunks = [b'{"message_id": "m%d", "delta": "x"}' % number for number in range(MESSAGES)]
    state.process([InputRecord("tokens", 0, at, 0, b"c", chunk) for at, chunk in enumerate(chunks)], [])
    write, mark = state.changes(full=True), state.mark()
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    turning = asyncio.create_task(others())
    snapshot = Snapshot(Head("g", 1, MESSAGES, len(write.changed)), write.meta, write.changed)
    extent = Extent(0, MESSAGES)
    found = await rebuild(PartitionSettings(), ("tokens", 0), Committed(MESSAGES, mark), extent, snapshot)
    turning.cancel()
    assert turns >= MESSAGES
    assert (found.plan.source, found.partition.mark()) == ("redis", mark)
