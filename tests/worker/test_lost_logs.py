"""What is announced of a log that is gone; on a real Kafka in `integration/test_other_logs.py`."""

from aiokafka import TopicPartition

from tokenmill.kafka.topic_log import Extent
from tokenmill.observe import Numbers
from tokenmill.partition import LogId, Mark, Partition, PartitionSettings
from tokenmill.records import InputRecord
from tokenmill.store import Head, Snapshot
from tokenmill.worker.lost_logs import LostLogNotices
from tokenmill.worker.positions import Committed
from tokenmill.worker.restore import plan

PLACE = TopicPartition("tokens", 0)
OLD, NEW = LogId("cluster", "old"), LogId("cluster", "new")
SETTINGS = PartitionSettings()


def _partition() -> Partition:
    state = Partition(SETTINGS, *PLACE)
    state.log = OLD
    chunks = [b'{"message_id": "a", "delta": "x"}', b'{"message_id": "b", "delta": "x"}']
    state.process([InputRecord("tokens", 0, at, 0, b"c", chunk) for at, chunk in enumerate(chunks)], [])
    return state


def _snapshot(state: Partition) -> Snapshot:
    write = state.changes(full=True)
    return Snapshot(Head("g", 1, write.offset, len(write.changed)), write.meta, write.changed)


async def _said(notices: LostLogNotices, commit: Committed | None, extent: Extent, snapshot: Snapshot | None) -> int:
    chosen = plan(commit, extent, None, SETTINGS.fingerprint())
    await notices.consider(PLACE, commit, extent, chosen, snapshot)
    return len(notices.said(PLACE))


async def test_it_is_known_from_the_last_state_or_from_the_snapshot_and_said_once() -> None:
    """Each of two messages gets an error and a finish; the next time there is nothing left to announce."""
    numbers = Numbers()
    notices = LostLogNotices(SETTINGS, numbers)
    snapshot = _snapshot(_partition())
    notices.remember(PLACE, _partition())
    assert await _said(notices, None, Extent(0, 9, NEW), None) == 4
    assert await _said(notices, None, Extent(0, 9, NEW), snapshot) == 4
    assert await _said(notices, Committed(2, Mark(2, 0, "f", log=NEW)), Extent(0, 9, NEW), snapshot) == 0
    assert numbers.value("tokenmill_log_changes_total", "another") == 2


async def test_of_a_log_that_lost_its_end_only_what_began_behind_it_is_gone() -> None:
    """What began before continues."""
    notices = LostLogNotices(SETTINGS, Numbers())
    notices.remember(PLACE, _partition())
    commit = Committed(2, Mark(2, 0, "f", log=OLD, epoch=1))
    assert await _said(notices, commit, Extent(0, 1, OLD, epoch=2), None) == 2


async def test_what_is_the_same_log_is_passed_over() -> None:
    """And what other workers have is forgotten; an empty assignment changes nothing."""
    notices = LostLogNotices(SETTINGS, Numbers())
    commit = Committed(2, Mark(2, 0, "f", log=OLD))
    notices.remember(PLACE, _partition())
    assert await _said(notices, commit, Extent(0, 9, OLD), None) == 0
    notices.remember(PLACE, _partition())
    notices.keep([])
    assert PLACE in notices._last
    notices.keep([TopicPartition("tokens", 1)])
    assert notices._last == {}


async def test_a_snapshot_that_cannot_be_read_tells_nothing() -> None:
    """Then the log reports that it is not known."""
    broken = Snapshot(Head("g", 1, 2, 0), b"?", {})
    assert await _said(LostLogNotices(SETTINGS, Numbers()), None, Extent(0, 9, NEW), broken) == 0
