"""Steps 5 and 6 of the cycle: mark what is done, and commit it with its mark once it is acknowledged.

The order is the promise (design 4.3): outputs acknowledged, then the offset, then the snapshot. One commit is in flight
at a time, so a committed offset never moves back. `Committer` has the order, for both kinds of delivery;
`OffsetCommitter` is how offsets are committed at least once, `exactly_once` has the other.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping

from aiokafka.structs import OffsetAndMetadata

from tokenmill.errors import FatalError, Unavailable
from tokenmill.kafka.aiokafka_inside import generation_of
from tokenmill.kafka.calls import deadline
from tokenmill.partition import Mark
from tokenmill.worker.lane import Lane, Phase
from tokenmill.worker.parts import Parts
from tokenmill.worker.snapshots import SnapshotWriter

log = logging.getLogger(__name__)

LAST_SNAPSHOTS_S = 3.0
"""Seconds for the snapshots of partitions that are given up; the next owner replays what is missing."""


class Committer:
    """The order of marks, commits and snapshots, for all lanes of the worker."""

    def __init__(self, parts: Parts, writer: SnapshotWriter, interval_ms: int) -> None:
        """`interval_ms`: milliseconds between two commits."""
        self._writer = writer
        self._numbers = parts.numbers
        self._hooks = parts.hooks
        self._interval_s = interval_ms / 1000
        self._patience = parts.config.worker.stall_timeout_s
        self._clock = parts.clock
        self._one_at_a_time = asyncio.Lock()

    async def run(self, lanes: Callable[[], Collection[Lane]]) -> None:
        """Commit for ever. Raises why the worker can't continue."""
        raise NotImplementedError

    async def tick(self, lanes: Iterable[Lane]) -> None:
        """Mark the lanes, commit what is acknowledged, and give committed snapshots to the writer."""
        await self._exclusively(self._round, lanes)

    async def _exclusively(self, work: Callable[[Iterable[Lane]], Awaitable[None]], lanes: Iterable[Lane]) -> None:
        """Commit these lanes while nothing else does."""
        async with self._one_at_a_time:
            await work(lanes)

    async def _round(self, lanes: Iterable[Lane]) -> None:
        live = [lane for lane in lanes if lane.phase is Phase.LIVE]
        for lane in live:
            lane.mark()
            self._writer.capture_if_due(lane.snapshots)
        await self._commit_due(live)
        for lane in live:
            if lane.committed is not None:
                self._writer.committed(lane.snapshots, lane.committed.offset)

    async def flush(self, lanes: Collection[Lane], seconds: float) -> list[Lane]:
        """Finish what is in flight, commit and snapshot it. Return the lanes of which everything is committed."""
        live = [lane for lane in lanes if lane.phase is Phase.LIVE]
        try:
            async with asyncio.timeout(seconds):
                for lane in live:
                    await lane.drained()
                await self._exclusively(self._finish, live)
        except TimeoutError:
            log.warning("not everything in flight was acknowledged and committed within %g s", seconds)
        done = [lane for lane in live if lane.committed and lane.committed.offset == lane.partition.offset]
        try:
            async with asyncio.timeout(LAST_SNAPSHOTS_S):
                for lane in done:
                    await self._writer.write_last(lane.snapshots)
        except TimeoutError:
            log.warning("not all snapshots were written within %g s", LAST_SNAPSHOTS_S)
        return done

    async def _finish(self, lanes: Iterable[Lane]) -> None:
        """Commit all that they have processed; their snapshots are written afterwards."""
        for lane in lanes:
            lane.mark()
        await self._commit_due(lanes)

    async def _commit_due(self, lanes: Iterable[Lane]) -> None:
        marks = {lane: mark for lane in lanes if (mark := lane.committable())}
        if marks:
            await self.commit(marks)

    async def commit(self, marks: dict[Lane, Mark]) -> None:
        """Commit these, and report the outcome to lanes, numbers and hooks. One call at a time."""
        raise NotImplementedError

    def _bear(self, problem: Unavailable, since: float) -> None:
        """Raise `FatalError` if commits have failed for too long."""
        if self._clock() - since > self._patience:
            raise FatalError(f"no commit came through for {self._patience:g} s: {problem}")


class OffsetCommitter(Committer):
    """Commits the offsets of all lanes in one request of the group's member."""

    def __init__(self, parts: Parts, writer: SnapshotWriter, interval_ms: int) -> None:
        """As `Committer`."""
        super().__init__(parts, writer, interval_ms)
        self._consumer = parts.consumer
        self._failing_since: float | None = None

    async def run(self, lanes: Callable[[], Collection[Lane]]) -> None:
        """Commit all lanes in one request per interval, from beginning to beginning."""
        begun = self._clock()
        while True:
            await asyncio.sleep(max(begun + self._interval_s - self._clock(), 0))
            begun = self._clock()
            await self.tick(lanes())

    async def commit(self, marks: dict[Lane, Mark]) -> None:
        """Commit acknowledged marks. A commit that fails is left to the next one, or to a replay."""
        # Without a generation the broker would take a commit for that of a tool, whoever owns the partition now.
        if generation_of(self._consumer) <= 0:
            return
        offsets, began = offsets_of(marks), self._clock()
        self._hooks.committing(offsets)
        try:
            await self._send(marks)
        except Unavailable as problem:
            self._failed(problem, began)
            return
        self._failing_since = None
        self._numbers.add("tokenmill_commits_total", "done")
        for lane, mark in marks.items():
            lane.commit_done(mark)
        self._hooks.committed(offsets)

    async def _send(self, marks: dict[Lane, Mark]) -> None:
        offsets = {lane.topic_partition: OffsetAndMetadata(mark.offset, mark.encode()) for lane, mark in marks.items()}
        await deadline(self._consumer.commit(offsets), "commit")

    def _failed(self, problem: Unavailable, began: float) -> None:
        """Count a commit that began then and failed."""
        self._numbers.add("tokenmill_commits_total", "failed")
        log.warning("%s; what was not committed is published again after a restore", problem)
        if self._failing_since is None:
            self._failing_since = began
        self._bear(problem, self._failing_since)


def offsets_of(marks: Mapping[Lane, Mark]) -> dict[tuple[str, int], int]:
    """Return offsets by topic and partition, as hooks get them."""
    return {(lane.partition.topic, lane.partition.number): mark.offset for lane, mark in marks.items()}
