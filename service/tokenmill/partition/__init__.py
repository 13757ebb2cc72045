"""Messages and partitions, and their saved state: pure functions of the log."""

from tokenmill.partition.idle import TimeoutControl
from tokenmill.partition.log_id import UNKNOWN_EPOCH, UNKNOWN_LOG, LogId
from tokenmill.partition.mark import Mark
from tokenmill.partition.partition import Partition, size_of
from tokenmill.partition.rebuild import at_once, log_of
from tokenmill.partition.recovery import DISAGREES, OTHER_LOG, ReplayEnd
from tokenmill.partition.settings import OutputSpec, PartitionSettings
from tokenmill.partition.skipped import Move, Moved, Published
from tokenmill.partition.snapshot import SnapshotWrite
from tokenmill.partition.tally import Tally

__all__ = [
    "DISAGREES",
    "OTHER_LOG",
    "UNKNOWN_EPOCH",
    "UNKNOWN_LOG",
    "LogId",
    "Mark",
    "Move",
    "Moved",
    "OutputSpec",
    "Partition",
    "PartitionSettings",
    "Published",
    "ReplayEnd",
    "SnapshotWrite",
    "Tally",
    "TimeoutControl",
    "at_once",
    "log_of",
    "size_of",
]
