"""The samplers notice what they are there for."""

from tests.chaos.watch import LATE_S, Commits, Heads
from tokenmill.store import Head, MemoryStore
from tokenmill.store.base import Place

TOPIC = "tokens"


def test_a_commit_that_goes_back_is_noticed() -> None:
    """I3, for each partition by itself."""
    commits = Commits("", "")
    commits.see({0: 5, 1: 9})
    commits.see({0: 5, 1: 10})
    assert commits.problems == []
    commits.see({0: 4, 1: 11})
    assert commits.problems == ["I3: partition 0: committed 4 after 5"]


class _Snapshots:
    """A store of one partition, its heads, and a clock."""

    def __init__(self) -> None:
        self._store = MemoryStore()
        self._head: Head | None = None
        self.now = 0.0
        self.commits = Commits("", "")
        self.heads = Heads(self._store, TOPIC, 1, self.commits, clock=lambda: self.now)

    async def write(self, epoch: int, offset: int) -> None:
        self._head = await self._store.write_full(TOPIC, 0, self._head, Place(epoch, offset), b"", {})

    async def look(self) -> list[str]:
        await self.heads.sample()
        self.heads.compare(self.now)
        return self.heads.problems


async def test_a_snapshot_that_goes_back_is_noticed() -> None:
    """I6: by its offset or by its writer's epoch."""
    for later in ((2, 9), (1, 11)):
        snapshots = _Snapshots()
        snapshots.commits.see({0: 100})
        await snapshots.write(2, 10)
        assert await snapshots.look() == []
        await snapshots.write(*later)
        assert len(await snapshots.look()) == 1


async def test_after_a_wipe_heads_begin_anew() -> None:
    """An old head that comes back with an old dump says nothing about workers."""
    snapshots = _Snapshots()
    snapshots.commits.see({0: 100})
    await snapshots.write(2, 10)
    await snapshots.look()
    snapshots.heads.rest()
    await snapshots.write(1, 5)
    await snapshots.look()
    snapshots.heads.go_on()
    assert await snapshots.look() == []


async def test_a_snapshot_ahead_of_the_commit_is_noticed() -> None:
    """I6: unless the commit is seen a moment later."""
    for seen_in_time in (True, False):
        snapshots = _Snapshots()
        snapshots.commits.see({0: 9})
        await snapshots.write(1, 10)
        assert await snapshots.look() == []
        if seen_in_time:
            snapshots.commits.see({0: 10})
        snapshots.now += 2 * LATE_S
        assert len(await snapshots.look()) == (0 if seen_in_time else 1)


async def test_a_broker_that_was_away_has_a_moment_again() -> None:
    """It has acknowledged what its coordinator writes when it is back."""
    snapshots = _Snapshots()
    snapshots.commits.see({0: 9})
    await snapshots.write(1, 10)
    await snapshots.look()
    snapshots.now += 2 * LATE_S
    snapshots.heads.unanswered()
    assert await snapshots.look() == []
    snapshots.now += 2 * LATE_S
    assert len(await snapshots.look()) == 1
