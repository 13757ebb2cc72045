"""One message, one partition, and what of them is kept: pure functions of the log."""

from tokenmill.session.idle import TimeoutControl
from tokenmill.session.mark import Mark
from tokenmill.session.partition import Partition
from tokenmill.session.recovery import ReplayEnd
from tokenmill.session.settings import OutputSpec, SessionSettings
from tokenmill.session.snapshot import SnapshotWrite
from tokenmill.session.tally import Tally

__all__ = [
    "Mark",
    "OutputSpec",
    "Partition",
    "ReplayEnd",
    "SessionSettings",
    "SnapshotWrite",
    "Tally",
    "TimeoutControl",
]
