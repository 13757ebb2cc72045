"""How a partition's state is had again after an assignment (design 4.4), as one decision over plain values.

    L .......... O .......... C ..........
    low water    snapshot     committed

A snapshot at O needs the records from O to C, nothing at all needs those from L to C; both give the same state, because
state is a function of the log. What the topic no longer holds makes the replay lossy: messages whose opening was not
seen are announced as lost, never passed over in silence.
"""

import asyncio
import gc
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from tokenmill.errors import SnapshotError
from tokenmill.session import Mark, Partition, SessionSettings
from tokenmill.store import Snapshot

T = TypeVar("T")


class Committed(NamedTuple):
    """What the broker has of a group's partition."""

    offset: int
    mark: Mark | None
    """None: the offset was set by something else than a worker."""


class Extent(NamedTuple):
    """What the topic holds of a partition: from `first` up to and without `end`."""

    first: int
    end: int


class Plan(NamedTuple):
    """From where to rebuild the state, and up to where."""

    source: str
    """One of `observe.RESTORE_SOURCES`."""
    start: int
    """The first record to read again."""
    mark: Mark
    """Records from its offset on are new."""
    lossy: bool = False
    lost: int = 0
    """Records that were never processed and that the topic dropped, or that it forgot to have."""
    check: bool = False
    """Whether the mark is the broker's, and so says what the state must be after the replay."""


class Rebuilt(NamedTuple):
    """A partition before its replay."""

    plan: Plan
    partition: Partition
    """As the snapshot has it, or empty, at the offset where the replay starts."""
    refused: str
    """Why a snapshot that is there is not used; empty if it is, or there is none."""


async def rebuild(
    settings: SessionSettings,
    place: tuple[str, int],
    committed: Committed | None,
    extent: Extent,
    snapshot: Snapshot | None,
) -> Rebuilt:
    """Decide, and make the partition `place` (topic and number) that the replay begins with.

    It takes a second for a hundred thousand messages; the loop turns meanwhile, as others have live partitions,
    heartbeats and time-outs.
    """
    chosen = plan(committed, extent, snapshot.head.offset if snapshot else None, settings.fingerprint())
    refused = ""
    if snapshot is not None and chosen.source == "redis":
        try:
            steps = Partition.restoring(settings, *place, chosen.mark, (snapshot.meta, snapshot.fields))
            partition = await _in_turns(steps)
        except SnapshotError as problem:
            refused = str(problem)
            chosen = plan(committed, extent, None, settings.fingerprint())
        else:
            return Rebuilt(chosen, partition, "")
    elif snapshot is not None:
        refused = f"it is of offset {snapshot.head.offset}, which does not lead to {chosen.mark.offset}"
    return Rebuilt(chosen, Partition(settings, *place, chosen.start), refused)


async def _in_turns(steps: Generator[None, None, T]) -> T:
    """Go through steps, and let others have a turn after each; answers what they come to."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        await asyncio.sleep(0)


def plan(committed: Committed | None, extent: Extent, snapshot: int | None, fingerprint: str) -> Plan:
    """Decide. `snapshot` is the offset of the one that the store has, `fingerprint` that of our settings."""
    if committed is None:
        return Plan("empty", extent.first, _fresh(extent.first, fingerprint))
    if committed.offset > extent.end:
        # The topic was made anew, or lost its end: what is committed speaks of another log.
        return Plan("empty", extent.first, _fresh(extent.first, fingerprint), lost=committed.offset - extent.end)
    mark = committed.mark or _fresh(committed.offset, fingerprint)
    lost = max(0, extent.first - mark.offset)
    check = committed.mark is not None
    low_water = mark.low_water if committed.mark else 0
    if snapshot is not None and low_water <= snapshot <= mark.offset and snapshot >= min(extent.first, mark.offset):
        return Plan("redis", snapshot, mark, lost=lost, check=check)
    lossy = mark.low_water < extent.first
    start = min(max(mark.low_water, extent.first), mark.offset)
    source = "empty" if start == mark.offset else "replay"
    return Plan(source, start, mark, lossy=lossy, lost=lost, check=check)


def _fresh(offset: int, fingerprint: str) -> Mark:
    return Mark(offset=offset, low_water=offset, fingerprint=fingerprint)


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """No search for garbage meanwhile: a restore makes a dozen objects a message and drops none of them.

    Searched through again and again as they grow in number, they would take two thirds of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
