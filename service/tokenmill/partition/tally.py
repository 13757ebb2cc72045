"""Counts of a partition's work, in plain dictionaries that the host drains: no library is called per token."""

from collections import defaultdict

from tokenmill.partition.trace_context import EndedMessage
from tokenmill.partition.traces import Trace

REJECTED_KEPT = 10
"""Rejected records that are kept between two drains, for reports; all are counted."""


class Tally:
    """Counters since the last drain. Every label is bounded: names of codecs, formats and events, and our own codes."""

    __slots__ = (
        "chunks",
        "dead_letters",
        "dropped",
        "ended",
        "events",
        "failed",
        "opened",
        "parse_errors",
        "rejected",
        "tool_calls",
        "traces",
    )

    def __init__(self) -> None:
        self.chunks: defaultdict[str, int] = defaultdict(int)
        """Chunks by codec."""
        self.events: defaultdict[str, int] = defaultdict(int)
        """Events by type."""
        self.parse_errors: defaultdict[tuple[str, str, str], int] = defaultdict(int)
        """Parse errors by format, stage and reason."""
        self.tool_calls: defaultdict[tuple[str, str], int] = defaultdict(int)
        """Calls by format and outcome."""
        self.dead_letters: defaultdict[str, int] = defaultdict(int)
        """Dead letters by error code."""
        self.rejected: list[tuple[int, str]] = []
        """Offset and error code of some records that can't be used."""
        self.failed: list[str] = []
        """Descriptions of some failures of this program."""
        self.dropped: defaultdict[str, int] = defaultdict(int)
        """Chunks without effect, by reason: duplicate, late, no-message, stale-timeout, lost."""
        self.ended: list[EndedMessage] = []
        """Ended choices that are part of a trace."""
        self.opened: list[int] = []
        """Timestamps of the records that opened a message, in milliseconds since the epoch."""
        self.traces: list[Trace] = []
        """Sources of calls and their results, if the settings ask for them."""

    def reject(self, offset: int, code: str) -> None:
        """Count a record that can't be used."""
        self.dead_letters[code] += 1
        if len(self.rejected) < REJECTED_KEPT:
            self.rejected.append((offset, code))

    def fail(self, where: str) -> None:
        """Note that this program failed on a record."""
        if len(self.failed) < REJECTED_KEPT:
            self.failed.append(where)

    def drain(self) -> "Tally":
        """Return what was counted since the last call, and start again from zero."""
        drained = Tally()
        for name in self.__slots__:
            counted = getattr(self, name)
            setattr(self, name, getattr(drained, name))
            setattr(drained, name, counted)
        return drained
