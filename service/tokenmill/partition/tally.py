"""Counts of what a partition did, in plain dictionaries that the host drains: no library is called per token."""

from collections import defaultdict

from tokenmill.partition.trace_context import EndedMessage
from tokenmill.partition.traces import Trace

REJECTED_KEPT = 10
"""Records between two drains of which it is told what is wrong; all are counted."""


class Tally:
    """Counters since the last drain. Every label is bounded: names of codecs, formats and events, and codes of ours."""

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
        """By codec."""
        self.events: defaultdict[str, int] = defaultdict(int)
        """By type."""
        self.parse_errors: defaultdict[tuple[str, str, str], int] = defaultdict(int)
        """By format, stage and reason."""
        self.tool_calls: defaultdict[tuple[str, str], int] = defaultdict(int)
        """By format and outcome."""
        self.dead_letters: defaultdict[str, int] = defaultdict(int)
        """By error code."""
        self.rejected: list[tuple[int, str]] = []
        """Of some records that can't be used: offset and error code."""
        self.failed: list[str] = []
        """Where this program failed, some of the times."""
        self.dropped: defaultdict[str, int] = defaultdict(int)
        """Chunks without effect, by reason: duplicate, late, no-message, stale-timeout, lost."""
        self.ended: list[EndedMessage] = []
        """Of those that are part of a trace."""
        self.opened: list[int] = []
        """Timestamps of the records that opened a message, in milliseconds since the epoch."""
        self.traces: list[Trace] = []
        """What became of calls, where settings ask for it."""

    def reject(self, offset: int, code: str) -> None:
        """A record can't be used."""
        self.dead_letters[code] += 1
        if len(self.rejected) < REJECTED_KEPT:
            self.rejected.append((offset, code))

    def fail(self, where: str) -> None:
        """This program failed on a record."""
        if len(self.failed) < REJECTED_KEPT:
            self.failed.append(where)

    def drain(self) -> "Tally":
        """What was counted since the last call; this object starts again at nothing."""
        drained = Tally()
        for name in self.__slots__:
            counted = getattr(self, name)
            setattr(self, name, getattr(drained, name))
            setattr(drained, name, counted)
        return drained
