"""Snapshots of lanes: when they are captured, when they may be written, and what follows a failure."""

import asyncio
import json
from typing import Any

import pytest

from tests.support.restoring import restore
from tests.support.rig import Recorder
from tests.support.stage import until
from tokenmill.errors import Unavailable
from tokenmill.observe import Numbers
from tokenmill.partition import LogId, Partition, PartitionSettings
from tokenmill.records import InputRecord
from tokenmill.store import Breaker, GuardedStore, Head, MemoryStore, Place
from tokenmill.worker.snapshots import SnapshotWriter

SETTINGS = PartitionSettings()
INTERVAL_S = 10.0


class Scene:
    """A writer over a store in memory, with a clock that the test turns."""

    def __init__(self) -> None:
        self.now = 0.0
        self.store = MemoryStore()
        self.numbers = Numbers()
        self.hooks = Recorder()
        self.guarded = GuardedStore(
            self.store, deadline=1, failed=lambda _op, _: None, breaker=Breaker(lambda: self.now)
        )
        self.writer = SnapshotWriter(self.guarded, INTERVAL_S, self.numbers, self.hooks, clock=lambda: self.now)
        self.partition = Partition(SETTINGS, "tokens", 0)
        self.snapshots = self.writer.of_lane(self.partition)
        self.snapshots.epoch = 3

    def talk(self, message: str, **chunk: object) -> None:
        value = json.dumps({"message_id": message, "delta": "x", **chunk}).encode()
        self.partition.process([InputRecord("tokens", 0, self.partition.offset, 0, b"c", value)], [])

    async def cycle(self) -> None:
        """An interval later: capture, commit, write."""
        self.now += INTERVAL_S
        self.writer.capture_if_due(self.snapshots)
        self.writer.committed(self.snapshots, self.partition.offset)
        await self.writer.write(self.snapshots)

    @property
    def captured(self) -> bool:
        return self.snapshots.captured is not None

    def outcome(self, kind: str, outcome: str) -> float:
        return self.numbers.value("tokenmill_snapshots_total", kind, outcome)

    async def head(self) -> Head | None:
        return await self.store.head("tokens", 0)


async def test_the_first_write_is_full_and_later_ones_are_deltas() -> None:
    """Each on top of the one before; what is written can be restored."""
    scene = Scene()
    scene.talk("a")
    scene.partition.changes(full=True)  # by whoever had it before
    scene.partition.log = LogId("cluster", "topic")
    assert scene.snapshots.place(1) == Place(3, 1, "topic")
    await scene.cycle()
    scene.talk("b")
    await scene.cycle()
    assert (scene.outcome("full", "done"), scene.outcome("delta", "done")) == (1, 1)
    assert scene.hooks.snapshots == [(0, 1), (0, 2)]
    snapshot = await scene.store.load("tokens", 0)
    assert snapshot is not None
    assert (snapshot.head.epoch, snapshot.head.offset) == (3, 2)
    mark = scene.partition.mark()
    again = restore(SETTINGS, "tokens", 0, mark, (snapshot.meta, snapshot.fields))
    assert again.mark() == mark


def test_nothing_is_captured_before_its_time_or_without_need() -> None:
    """Once an interval, and only where something happened since."""
    scene = Scene()
    scene.talk("a")
    scene.writer.capture_if_due(scene.snapshots)
    assert not scene.captured
    scene.now += INTERVAL_S
    scene.snapshots.written = scene.partition.offset
    scene.writer.capture_if_due(scene.snapshots)
    assert not scene.captured
    scene.talk("b")
    scene.writer.capture_if_due(scene.snapshots)
    captured = scene.snapshots.captured
    assert captured is not None
    scene.now += INTERVAL_S
    scene.talk("c")
    scene.writer.capture_if_due(scene.snapshots)
    assert scene.snapshots.captured is captured


async def test_the_next_one_is_captured_an_interval_later() -> None:
    """Not with each commit."""
    scene = Scene()
    scene.talk("a")
    await scene.cycle()
    scene.talk("b")
    scene.now += INTERVAL_S / 2
    scene.writer.capture_if_due(scene.snapshots)
    assert not scene.captured
    scene.now += INTERVAL_S / 2
    scene.writer.capture_if_due(scene.snapshots)
    assert scene.captured


async def test_nothing_is_written_before_it_is_committed() -> None:
    """The store is never ahead of the broker."""
    scene = Scene()
    scene.talk("a")
    scene.now += INTERVAL_S
    scene.writer.capture_if_due(scene.snapshots)
    scene.writer.committed(scene.snapshots, 0)
    assert scene.writer._queue.empty()
    scene.writer.committed(scene.snapshots, 1)
    assert scene.writer._queue.qsize() == 1
    scene.writer.committed(scene.snapshots, 2)
    assert scene.writer._queue.qsize() == 1


async def test_each_that_is_committed_is_written() -> None:
    """By the writer's own task, one after the other."""
    scene = Scene()
    running = asyncio.create_task(scene.writer.run())
    for offset in (1, 2):
        scene.talk("a")
        scene.now += INTERVAL_S
        scene.writer.capture_if_due(scene.snapshots)
        scene.writer.committed(scene.snapshots, offset)
        await until(lambda: not scene.captured, "it is written")
    running.cancel()
    assert scene.hooks.snapshots == [(0, 1), (0, 2)]


async def test_a_failed_write_is_followed_by_a_full_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the store has of a delta whose answer was lost is not known."""
    scene = Scene()
    scene.talk("a")
    await scene.cycle()

    async def away(*_: object) -> Head:
        raise Unavailable("away")

    monkeypatch.setattr(scene.store, "write_delta", away)
    scene.talk("b")
    await scene.cycle()
    assert scene.outcome("delta", "failed") == 1
    scene.talk("c")
    await scene.cycle()
    assert scene.outcome("full", "done") == 2
    assert (await scene.head() or Head("", 0, 0, 0)).offset == 3


async def test_a_write_of_ours_whose_answer_was_lost_is_nobody_else_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """The head is not what we know, but of our own epoch: we go on."""
    scene = Scene()
    write_full = scene.store.write_full

    async def lost(*args: Any) -> Head:
        await write_full(*args)
        raise Unavailable("the answer is lost")

    with monkeypatch.context() as patched:
        patched.setattr(scene.store, "write_full", lost)
        scene.talk("a")
        await scene.cycle()
    for message in ("b", "c"):
        scene.talk(message)
        await scene.cycle()
    assert [scene.outcome("full", outcome) for outcome in ("failed", "overtaken", "done")] == [1, 1, 1]
    assert (await scene.head() or Head("", 0, 0, 0)).offset == 3


async def test_nothing_is_captured_for_a_store_that_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Encoding in vain would cost the token path."""
    scene = Scene()

    async def away(*_: object) -> Head:
        raise Unavailable("away")

    monkeypatch.setattr(scene.store, "head", away)
    scene.talk("a")
    await scene.cycle()
    scene.talk("b")
    scene.snapshots.due = scene.now
    scene.writer.capture_if_due(scene.snapshots)
    assert scene.guarded.refusing
    assert not scene.captured


async def test_an_older_owner_s_late_write_is_written_over() -> None:
    """The head is not what we know, but its writer's epoch is older: the next write is a full one on that."""
    scene = Scene()
    scene.talk("a")
    await scene.cycle()
    await scene.store.write_full("tokens", 0, await scene.head(), Place(2, 1), b"", {})
    scene.talk("b")
    await scene.cycle()
    assert scene.outcome("delta", "overtaken") == 1
    await scene.cycle()
    head = await scene.head()
    assert head is not None
    assert (head.epoch, head.offset) == (3, 2)


async def test_a_newer_owner_s_write_ends_ours() -> None:
    """We are the zombie: nothing more is captured."""
    scene = Scene()
    scene.talk("a")
    await scene.cycle()
    await scene.store.write_full("tokens", 0, await scene.head(), Place(4, 9), b"", {})
    for message in ("b", "c"):
        scene.talk(message)
        await scene.cycle()
    assert scene.outcome("delta", "overtaken") == 1
    assert scene.outcome("full", "done") == 1
    head = await scene.head()
    assert head is not None
    assert head.epoch == 4
    assert scene.snapshots.overtaken
    scene.snapshots.owned_again(5, scene.now)
    await scene.cycle()
    assert scene.outcome("full", "done") == 2


async def test_a_store_that_was_emptied_is_written_to_again() -> None:
    """There is no head, which is nobody's newer one."""
    scene = Scene()
    scene.talk("a")
    await scene.cycle()
    scene.store.keep([])
    for message in ("b", "c"):
        scene.talk(message)
        await scene.cycle()
    assert [scene.outcome(kind, how) for kind, how in (("delta", "overtaken"), ("full", "done"))] == [1, 2]


async def test_the_last_write_leaves_a_newer_owner_s_alone() -> None:
    """We are the zombie, and learn of it only when we give the partition up."""
    scene = Scene()
    scene.talk("a")
    await scene.cycle()
    scene.talk("b")
    scene.now += INTERVAL_S
    scene.writer.capture_if_due(scene.snapshots)
    theirs = await scene.store.write_full("tokens", 0, await scene.head(), Place(4, 5), b"", {})
    await scene.writer.write_last(scene.snapshots)
    assert await scene.head() == theirs


async def test_a_restored_partition_goes_on_with_deltas() -> None:
    """A takeover need not write everything again."""
    scene = Scene()
    scene.talk("a")
    await scene.cycle()
    snapshot = await scene.store.load("tokens", 0)
    assert snapshot is not None
    state = (snapshot.meta, snapshot.fields)
    scene.partition = restore(SETTINGS, "tokens", 0, scene.partition.mark(), state)
    scene.snapshots = scene.writer.of_lane(scene.partition)
    scene.snapshots.epoch = 4
    scene.snapshots.restored(snapshot.head)
    scene.talk("b")
    await scene.cycle()
    assert scene.outcome("delta", "done") == 1
    after = await scene.store.load("tokens", 0)
    assert after is not None
    mark = scene.partition.mark()
    again = restore(SETTINGS, "tokens", 0, mark, (after.meta, after.fields))
    assert again.mark() == mark


async def test_the_last_write_takes_what_came_since_the_last_capture() -> None:
    """Before a partition is given up: the next owner then has nothing to replay."""
    scene = Scene()
    scene.talk("a")
    scene.now += INTERVAL_S
    scene.writer.capture_if_due(scene.snapshots)
    scene.talk("b")
    await scene.writer.write_last(scene.snapshots)
    assert scene.hooks.snapshots == [(0, 1), (0, 2)]
    await scene.writer.write_last(scene.snapshots)
    assert scene.hooks.snapshots == [(0, 1), (0, 2)]


def test_lanes_are_due_at_different_times() -> None:
    """Captures do not pile up after an assignment, and none waits longer than an interval."""
    scene = Scene()
    due = [scene.writer.of_lane(Partition(SETTINGS, "tokens", number)).due for number in range(16)]
    assert len(set(due)) > 1
    assert all(0 < each <= INTERVAL_S for each in due)
