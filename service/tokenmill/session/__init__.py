"""One message, one partition, and what of them is kept: pure functions of the log."""

from tokenmill.session.idle import TimeoutControl
from tokenmill.session.log_id import UNKNOWN_EPOCH, UNKNOWN_LOG, LogId
from tokenmill.session.mark import Mark
from tokenmill.session.partition import Partition
from tokenmill.session.recovery import DISAGREES, OTHER_LOG, ReplayEnd
from tokenmill.session.restore import at_once, log_of
from tokenmill.session.settings import OutputSpec, SessionSettings
from tokenmill.session.skipped import Move, Moved, Published
from tokenmill.session.snapshot import SnapshotWrite
from tokenmill.session.tally import Tally

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
    "Published",
    "ReplayEnd",
    "SessionSettings",
    "SnapshotWrite",
    "Tally",
    "TimeoutControl",
    "at_once",
    "log_of",
]
