"""Messages that were open in a log that is gone: they are announced as lost, once (design 4.13).

They are known from the lane that was live or parked here, or from the snapshot, which has no other use then. What
another worker opened after that is not known.
"""

import logging
from collections.abc import Collection

from aiokafka import TopicPartition

from tokenmill.errors import SnapshotError
from tokenmill.kafka.topic_log import Extent
from tokenmill.observe import Numbers
from tokenmill.partition import OTHER_LOG, LogId, Mark, Partition, PartitionSettings, log_of
from tokenmill.records import Output
from tokenmill.store import Snapshot
from tokenmill.worker.positions import Committed
from tokenmill.worker.restore import Plan, in_turns

log = logging.getLogger(__name__)

_WHAT = {
    "another": "it is another log under the same name, and is read from its first record",
    "cut": "it has lost its end; reading continues from where it agrees with what was committed",
    "unknown": "it ends below what is committed, and may be another log; it is read from its first record",
}
"""What is logged of the log that is there now, by change."""


class LostLogNotices:
    """Keeps the last state of each partition, and announces what was open in it if its log is gone."""

    def __init__(self, settings: PartitionSettings, numbers: Numbers) -> None:
        self._settings = settings
        self._numbers = numbers
        self._last: dict[TopicPartition, Partition] = {}
        self._said: dict[TopicPartition, list[Output]] = {}

    def remember(self, place: TopicPartition, partition: Partition) -> None:
        """Keep the state that a lane had when it was closed."""
        self._last[place] = partition

    def keep(self, places: Collection[TopicPartition]) -> None:
        """Forget all others, which another worker has. No places at all forget nothing: the topic may be gone."""
        if places:
            self._last = {place: last for place, last in self._last.items() if place in places}

    async def consider(
        self, place: TopicPartition, commit: Committed | None, extent: Extent, chosen: Plan, snapshot: Snapshot | None
    ) -> Plan:
        """Announce what became of the log, if it is not the one that was committed; return the plan with that."""
        last, mark = self._last.pop(place, None), commit.mark if commit else None
        before = mark.log if mark else await self._log_before(last, snapshot)
        if not chosen.change and mark is None and before.is_another(extent.log):
            chosen = chosen._replace(change="another")  # with a topic the broker deletes the commits of it
        if not chosen.change:
            return chosen
        opened_from = chosen.mark.offset if chosen.change == "cut" else 0
        out: list[Output] = []
        old = last if _is_of(last, before) else await self._partition(place, before, snapshot)
        told = old.lose_open(out, OTHER_LOG, opened_from) if old else 0
        self._said[place] = out
        self._numbers.add("tokenmill_log_changes_total", chosen.change)
        log.error("%s/%d is %s, was %s: %s", *place, extent.log, before, _WHAT[chosen.change])
        open_there = f"; {mark.count} were committed as open" if mark else ""
        if old is None:
            log.error("%s/%d: which messages were open is not known%s", *place, open_there)
        else:
            log.error("%s/%d: %d open messages are announced as lost%s", *place, told, open_there)
        return chosen

    def said(self, place: TopicPartition) -> list[Output]:
        """Return what is to be published of the log that is gone, once."""
        return self._said.pop(place, [])

    async def _log_before(self, last: Partition | None, snapshot: Snapshot | None) -> LogId:
        if last is not None:
            return last.log
        try:
            return log_of(snapshot.meta) if snapshot else LogId()
        except SnapshotError:
            return LogId()

    async def _partition(self, place: TopicPartition, before: LogId, snapshot: Snapshot | None) -> Partition | None:
        """Return the partition as the snapshot has it, if that is of the log that is gone."""
        if snapshot is None:
            return None
        mark = Mark(offset=snapshot.head.offset, low_water=0, fingerprint="", log=before)
        topic, number = place
        fields = snapshot.meta, snapshot.fields
        try:
            return await in_turns(Partition.restoring(self._settings, topic, number, mark, fields))
        except SnapshotError:
            return None


def _is_of(last: Partition | None, before: LogId) -> bool:
    return last is not None and not last.log.diverged_from(before)
