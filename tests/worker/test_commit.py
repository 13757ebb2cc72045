"""Commits on a real Kafka: after acknowledged outputs, with the mark, and not without membership."""

import asyncio
from types import SimpleNamespace

import pytest
from aiokafka.errors import CommitFailedError

from tests.support.rig import Rig, rigged
from tests.support.stage import Stage, until
from tokenmill.errors import FatalError
from tokenmill.partition import Mark
from tokenmill.worker import commit as commit_module
from tokenmill.worker.commit import OffsetCommitter
from tokenmill.worker.lane import Lane

pytestmark = pytest.mark.integration


async def _live(rig: Rig) -> None:
    await until(lambda: rig.engine.ready, "every partition is live")


async def _parsed(stage: Stage, rig: Rig, count: int = 3) -> None:
    """Some records of one message, read and parsed, but not waited for."""
    await stage.send_all(("c", {"message_id": "m", "seq": seq, "delta": "x"}) for seq in range(count))
    read = 0
    while read < count:
        read += await rig.turn()


async def _parsed_lane(stage: Stage, rig: Rig) -> Lane:
    """The lane that has parsed records, all of them on their way, of a live worker."""
    await _live(rig)
    await _parsed(stage, rig)
    [lane] = [lane for lane in rig.engine.lanes.values() if lane.partition.offset]
    return lane


async def test_a_commit_carries_the_mark(stage: Stage) -> None:
    """Offset and low-water mark, count and fingerprint, as the next owner reads them."""
    async with rigged(stage) as rig:
        lane = await _parsed_lane(stage, rig)
        await lane.drained()
        await rig.commit()
        committed = await stage.committed()
        mark = Mark.decode(committed[lane.partition.number][1])
        assert mark == lane.committed
        assert mark is not None
        assert (mark.offset, mark.low_water, mark.count) == (3, 0, 1)
        assert mark.fingerprint == rig.engine.delivery.parts.settings.fingerprint()
        assert rig.hooks.commits[-1][lane.partition.topic, lane.partition.number] == 3


async def test_nothing_is_committed_before_it_is_acknowledged(stage: Stage) -> None:
    """A tick right after the parse finds nothing to commit for these records."""
    async with rigged(stage) as rig:
        await _live(rig)
        await rig.commit()
        await _parsed(stage, rig)
        lanes = [lane for lane in rig.engine.lanes.values() if lane.partition.offset]
        for lane in lanes:
            lane.mark()
            assert lane.in_flight
            assert lane.committable() is None


async def test_what_could_not_be_committed_in_time_is_not_kept(stage: Stage) -> None:
    """Though something before it was: the state is ahead of what the next owner is told."""
    async with rigged(stage) as rig:
        lane = await _parsed_lane(stage, rig)
        assert await rig.engine.committer.flush([lane], 20) == [lane]
        await stage.send("c", {"message_id": "m", "seq": 3, "delta": "x"})
        while lane.partition.offset < 4:
            await rig.turn()
        assert await rig.engine.committer.flush([lane], 0) == []
        assert rig.hooks.snapshots == [(lane.partition.number, 3)]


async def test_commits_begin_at_the_interval(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long one takes, the next begins an interval after it began, or immediately: the pause is what is left."""
    pauses, now, enough = list[float](), [0.0], asyncio.Event()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        now[0] += seconds
        if len(pauses) == 4:
            enough.set()
            await asyncio.Event().wait()

    took = iter((0.03, 0.07, 0.0))

    async def tick(_: object) -> None:
        now[0] += next(took)

    async with rigged(stage, commit_interval_ms=50) as rig:
        await _live(rig)
        committer = rig.engine.committer
        committer._clock = lambda: now[0]
        with monkeypatch.context() as patch:
            patch.setattr(committer, "tick", tick)
            patch.setattr(commit_module, "asyncio", SimpleNamespace(sleep=sleep))
            task = asyncio.get_running_loop().create_task(committer.run(list))
            await enough.wait()
        task.cancel()
    assert pauses == pytest.approx([0.05, 0.02, 0.0, 0.05])


async def test_a_flush_finishes_commits_and_snapshots(stage: Stage) -> None:
    """As at revocation and shutdown; it returns the lanes of which everything is committed."""
    async with rigged(stage) as rig:
        await _live(rig)
        await _parsed(stage, rig)
        done = await rig.engine.committer.flush(list(rig.engine.lanes.values()), 10)
        assert sorted(lane.partition.number for lane in done) == [0, 1]
        assert sorted(offset for _, offset in rig.hooks.snapshots) == [0, 3]
        assert max(offset for offset, _ in (await stage.committed()).values()) == 3


async def test_a_store_that_is_stuck_holds_up_no_revocation(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is committed is done, though no snapshot of it was written: the next owner replays a little more."""

    async def stuck(_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(commit_module, "LAST_SNAPSHOTS_S", 0.05)
    async with rigged(stage) as rig:
        await _live(rig)
        monkeypatch.setattr(rig.engine.committer._writer, "write_last", stuck)
        async with asyncio.timeout(20):
            done = await rig.engine.committer.flush(list(rig.engine.lanes.values()), 10)
        assert len(done) == 2
        monkeypatch.undo()


async def test_what_is_captured_is_to_be_written_once_it_is_committed(stage: Stage) -> None:
    """The writer does that beside the records that are read meanwhile."""
    async with rigged(stage) as rig:
        lane = await _parsed_lane(stage, rig)
        await lane.drained()
        lane.snapshots.due = 0.0
        await rig.commit()
        assert lane.snapshots.queued


async def test_what_is_captured_is_not_written_before_it_is_committed(stage: Stage) -> None:
    """An older commit does not count: the store is never ahead of the broker."""
    async with rigged(stage) as rig:
        await _live(rig)
        await rig.commit()
        lane = await _parsed_lane(stage, rig)
        lane.snapshots.due = 0.0
        await rig.commit()
        assert lane.committed is not None
        assert (lane.committed.offset, lane.snapshots.captured is not None, lane.snapshots.queued) == (0, True, False)


async def test_a_flush_that_takes_too_long_gives_up_the_lane(stage: Stage) -> None:
    """It is not among those that are done: its records will be read again."""
    async with rigged(stage) as rig:
        busy = await _parsed_lane(stage, rig)
        await busy.drained()
        for box in busy.outboxes.values():
            box.acked -= 1
        busy.partition.offset += 1
        busy.mark()
        done = await rig.engine.committer.flush([busy], 0.05)
        assert done == []


async def test_without_a_generation_nothing_is_committed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is evicted and has not heard of it yet: the broker might take the commit for that of a tool.

    Only the committer sees no generation: a heartbeat without one would make the member join again.
    """
    async with rigged(stage) as rig:
        await _live(rig)
        await _parsed(stage, rig)
        for lane in rig.engine.lanes.values():
            await lane.drained()
        evicted = SimpleNamespace(_coordinator=SimpleNamespace(generation=-1))
        monkeypatch.setattr(rig.engine.committer, "_consumer", evicted)
        await rig.commit()
        monkeypatch.undo()
        assert await stage.committed() == {}  # not even where the group begins
        await rig.commit()
        assert max(offset for offset, _ in (await stage.committed()).values()) == 3


async def test_commits_that_fail_for_too_long_are_fatal(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that fails is counted and tried again; when none comes through the process must end."""
    async with rigged(stage, stall_timeout_s=60) as rig:
        await _live(rig)
        now = [0.0]
        committer = rig.engine.committer
        assert isinstance(committer, OffsetCommitter)
        committer._clock = lambda: now[0]

        async def fails(_: object) -> None:
            raise CommitFailedError("the group has rebalanced")

        monkeypatch.setattr(rig.engine.consumer, "commit", fails)
        await rig.commit()
        now[0] = 59
        await rig.commit()
        assert rig.engine.numbers.value("tokenmill_commits_total", "failed") == 2
        now[0] = 61
        with pytest.raises(FatalError, match="no commit came through for 60 s"):
            await rig.commit()
        monkeypatch.undo()
        await rig.commit()
        assert rig.engine.numbers.value("tokenmill_commits_total", "done") == 1
        now[0], lane = 1_000, rig.lane()
        assert lane.committed is not None
        monkeypatch.setattr(rig.engine.consumer, "commit", fails)
        await committer.commit({lane: lane.committed})  # those of before count no longer


async def test_one_commit_is_in_flight_at_a_time(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a committed offset never moves back. Hooks are told before."""
    async with rigged(stage) as rig:
        await _live(rig)
        under_way, most, told = 0, 0, list[object]()
        monkeypatch.setattr(rig.hooks, "committing", told.append)
        commit = rig.engine.consumer.commit

        async def watched(offsets: object) -> None:
            nonlocal under_way, most
            assert told  # a worker that is stopped there has committed nothing yet
            under_way += 1
            most = max(most, under_way)
            await commit(offsets)
            under_way -= 1

        monkeypatch.setattr(rig.engine.consumer, "commit", watched)
        await _parsed(stage, rig)
        for lane in rig.engine.lanes.values():
            await lane.drained()
        await asyncio.gather(*(rig.commit() for _ in range(5)))
        assert most == 1
