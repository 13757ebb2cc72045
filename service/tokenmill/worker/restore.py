"""How a partition's state is restored after an assignment (design 4.4), as one decision over plain values.

    L .......... O .......... C ..........
    low water    snapshot     committed

With a snapshot at O the records from O to C are read again, without one those from L to C; both give the same state,
because state is a function of the log. What the topic no longer holds makes the replay lossy: messages whose opening
was not seen are announced as lost, never passed over in silence.

All this holds within one log (design 4.13). The commit may be of another one, whose topic is gone: then nothing of it
is valid, and the topic is read from its first record. Or the log has lost its end, together with the brokers that held
it, and continued with other records: then the state is restored, as well as possible, to where the two agree.
"""

import asyncio
from collections.abc import Generator
from typing import NamedTuple, TypeVar

import msgspec

from tokenmill.errors import SnapshotError
from tokenmill.kafka.topic_log import Extent
from tokenmill.partition import UNKNOWN_EPOCH, UNKNOWN_LOG, LogId, Mark, Move, Partition, PartitionSettings
from tokenmill.store import Snapshot
from tokenmill.worker.positions import Committed

T = TypeVar("T")


class Plan(NamedTuple):
    """From where to where the state is rebuilt."""

    source: str
    """One of `observe.RESTORE_SOURCES`."""
    start: int
    """The first record to read again."""
    mark: Mark
    """Records from its offset on are new."""
    lossy: bool = False
    lost: int = 0
    """Records that the topic dropped before they were processed, or lost with its end."""
    check: bool = False
    """Whether the mark is the broker's, so that the state after the replay must match it."""
    log: LogId = UNKNOWN_LOG
    """The log that the state is of."""
    epoch: int = UNKNOWN_EPOCH
    """No leader older than this had the records below `mark.offset`."""
    change: str = ""
    """One of `observe.LOG_CHANGES`, if the commit is not of this log as it is now."""
    move: Move | None = None
    """What is known of an offset that something other than a worker set."""


class Rebuilt(NamedTuple):
    """A partition before its replay."""

    plan: Plan
    partition: Partition
    """As the snapshot has it, or empty, at the offset where the replay starts."""
    refused: str
    """Why a snapshot that is there is not used; empty if it is, or there is none."""


async def rebuild(
    settings: PartitionSettings,
    place: tuple[str, int],
    committed: Committed | None,
    extent: Extent,
    snapshot: Snapshot | None,
) -> Rebuilt:
    """Decide, and make the partition `place` (topic and number) that the replay begins with.

    It takes a second for a hundred thousand messages; meanwhile the loop turns for live partitions, heartbeats and
    time-outs.
    """
    chosen = plan(committed, extent, snapshot.head.offset if snapshot else None, settings.fingerprint())
    refused = ""
    if snapshot is not None and chosen.source == "redis":
        try:
            steps = Partition.restoring(settings, *place, chosen.mark, (snapshot.meta, snapshot.fields))
            partition = await in_turns(steps)
        except SnapshotError as problem:
            refused = str(problem)
            chosen = plan(committed, extent, None, settings.fingerprint())
        else:
            partition.log, partition.epoch = chosen.log, chosen.epoch
            return Rebuilt(chosen, partition, "")
    elif snapshot is not None:
        refused = f"it is of offset {snapshot.head.offset}, which does not lead to {chosen.mark.offset}"
    partition = Partition(settings, *place, chosen.start)
    partition.log, partition.epoch = chosen.log, chosen.epoch
    return Rebuilt(chosen, partition, refused)


async def in_turns(steps: Generator[None, None, T]) -> T:
    """Go through steps, letting other tasks run after each; return their result."""
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
        return _anew(extent, fingerprint)
    mark = committed.mark
    if mark is not None and mark.log.is_another(extent.log):
        return _anew(extent, fingerprint, "another")
    if committed.offset > extent.agreed:
        missing = committed.offset - extent.agreed
        if mark is None or not (mark.log.topic and extent.log.topic):
            # It lost its end or was made again; nothing shows which. Records twice are better than none.
            return _anew(extent, fingerprint, "unknown", missing)
        return _cut(mark, extent, snapshot, missing)
    check = mark is not None and committed.move is None
    low_water = mark.low_water if mark is not None else 0
    mark = mark or _fresh(committed.offset, fingerprint)
    chosen = _lead(mark, extent, snapshot, low_water)
    log = msgspec.structs.replace(extent.log, branch=mark.log.branch)
    return chosen._replace(check=check, log=log, epoch=mark.epoch, move=_move(committed.move, snapshot))


def _move(move: Move | None, snapshot: int | None) -> Move | None:
    """Return the move; where the output does not show what was processed before, a snapshot does, roughly."""
    return Move(done=snapshot) if move == Move() and snapshot is not None else move


def still_committed(mark: Mark | None, committed: Committed | None, extent: Extent) -> bool:
    """Whether the broker has exactly this commit, which a parked lane made, and the log holds what comes next.

    It must be the log of the commit, and no record after that may be gone, which would have to be announced.
    """
    if committed is None or committed.mark is None:
        return False
    found = plan(committed, extent, None, "")
    return committed.mark == mark and not found.change and not found.lost


def _lead(mark: Mark, extent: Extent, snapshot: int | None, low_water: int) -> Plan:
    """Plan from the snapshot to the mark, if it is not below `low_water`; else from the mark's own low water."""
    lost = max(0, extent.first - mark.offset)
    if snapshot is not None and low_water <= snapshot <= mark.offset and snapshot >= min(extent.first, mark.offset):
        return Plan("redis", snapshot, mark, lost=lost)
    lossy = mark.low_water < extent.first
    start = min(max(mark.low_water, extent.first), mark.offset)
    source = "empty" if start == mark.offset else "replay"
    return Plan(source, start, mark, lossy=lossy, lost=lost)


def _anew(extent: Extent, fingerprint: str, change: str = "", lost: int = 0) -> Plan:
    """Plan from the first record on."""
    mark = _fresh(extent.first, fingerprint)
    return Plan("empty", extent.first, mark, lost=lost, log=extent.log, change=change)


def _cut(mark: Mark, extent: Extent, snapshot: int | None, missing: int) -> Plan:
    """Plan from where the log agrees with what was committed. What was open there may have ended in what is missing.

    So the low-water mark does not cover it, and a replay from there may lack beginnings; a snapshot has all.
    """
    at = extent.agreed
    left = msgspec.structs.replace(
        mark,
        offset=at,
        low_water=min(mark.low_water, at),
        unseen_until=min(mark.unseen_until, at),
        foreign_until=min(mark.foreign_until, at),
        announced=tuple(span for span in mark.announced if span[1] <= at),
    )
    chosen = _lead(left, extent, snapshot, 0)
    log = msgspec.structs.replace(extent.log, branch=extent.epoch)
    lossy = chosen.source != "redis"
    return chosen._replace(lossy=lossy, lost=missing, log=log, epoch=extent.epoch, change="cut")


def _fresh(offset: int, fingerprint: str) -> Mark:
    return Mark(offset=offset, low_water=offset, fingerprint=fingerprint)
