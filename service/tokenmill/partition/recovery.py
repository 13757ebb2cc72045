"""What a replay can't rebuild, and how it is announced.

A replay from the low-water mark gives the same state as before, with two exceptions. A message whose opening the topic
no longer holds is *unseen*; if the topic has no record of it at all, it is *missing*. A message that was opened under
another configuration is *foreign*: its options are in a snapshot or nowhere. All are announced once, with an `error`
and a `finish`, without `seq`; a missing one is announced when it continues. Commits hold what was announced, so a later
replay does not announce it again and does not take such a message for a sound one.
"""

from typing import TypeAlias

import msgspec

from tokenmill.events import Error, ErrorCode, Event, Finish
from tokenmill.partition.mark import Mark
from tokenmill.partition.message import Choice, Lost, Open
from tokenmill.partition.messages import Messages
from tokenmill.partition.missing import Missing
from tokenmill.partition.skipped import Moved

ANNOUNCED_SPANS = 16
"""Spans of announced losses that every commit holds: one for each change of the configuration that met a partition
without its snapshot, while the ended messages are remembered. With more, the oldest are forgotten: a loss may be
announced twice then, but none is left out."""

Spans: TypeAlias = tuple[tuple[int, int], ...]
"""Pairs of offsets: from, inclusive, and until, exclusive."""


class Gaps(msgspec.Struct, array_like=True):
    """The parts of the log below that can't be replayed as they were, as offsets; 0 where there is none."""

    unseen_until: int = 0
    """Messages first seen below this offset without their opening were announced as lost."""
    foreign_until: int = 0
    """Messages opened below this offset were opened under another configuration."""
    announced: Spans = ()
    """Spans: of these messages, exactly those that opened in one were announced as lost."""
    skipped: Spans = ()
    """Spans whose records were never processed; choices that made events there were announced as lost."""

    def prune(self, low_water: int) -> None:
        """Forget what no replay reaches any longer."""
        if low_water >= self.unseen_until:
            self.unseen_until = 0
        if low_water >= self.foreign_until:
            self.foreign_until = 0
        self.announced = tuple(span for span in self.announced if span[1] > low_water)
        self.skipped = tuple(span for span in self.skipped if span[1] > low_water)

    def skip(self, span: tuple[int, int]) -> None:
        """Remember a span in which records were skipped."""
        self.skipped = (*self.skipped, span)[-ANNOUNCED_SPANS:]


class Replay(msgspec.Struct, frozen=True):
    """A replay in progress."""

    mark: Mark
    start: int
    """First offset: anything older came from a snapshot, or is unseen."""
    lossy: bool

    @property
    def unseen_until(self) -> int:
        """Offset below which openings may be missing."""
        return self.mark.offset if self.lossy else self.mark.unseen_until

    def missing(self, known: int, time: int, max_age_ms: int) -> Missing:
        """What is missing after it, given the number of known messages and the last record's timestamp, 0 if none."""
        unknown = max(0, self.mark.count - known) if self.lossy else 0
        return self.mark.missing.more(unknown, time and time + max_age_ms)

    def foreign_until(self, fingerprint: str) -> int:
        """Offset below which messages were opened under another configuration than `fingerprint`."""
        return self.mark.offset if fingerprint != self.mark.fingerprint else self.mark.foreign_until

    def gaps(self, fingerprint: str) -> Gaps:
        """What no later replay can rebuild."""
        foreign_until = self.foreign_until(fingerprint)
        announced = self.mark.announced
        if self.start < foreign_until:
            announced = with_span(announced, self.start, foreign_until)
        return Gaps(self.unseen_until, foreign_until, announced, self.mark.skipped)

    def has_foreign(self, fingerprint: str) -> bool:
        """Whether there can be any choice that `is_foreign`."""
        return self.start < self.foreign_until(fingerprint)

    def announces(self, offset: int, until: int) -> bool:
        """Whether any loss was announced from `offset` up to `until`."""
        return any(offset <= end <= until for _, end in self.mark.announced)

    def is_announced(self, choice: Choice, until: int) -> bool:
        """Whether a foreign choice was announced as lost, up to `until`, when the configuration changed."""
        spans = self.mark.announced
        return isinstance(choice.state, Open) and any(start <= choice.pinned < end <= until for start, end in spans)

    def is_foreign(self, choice: Choice, fingerprint: str) -> bool:
        """Whether a choice that the replay opened originally had other options."""
        return isinstance(choice.state, Open) and self.start <= choice.pinned < self.foreign_until(fingerprint)


def with_span(spans: Spans, start: int, end: int) -> Spans:
    """Add a span, merged with those that have the same end."""
    start = min([start, *(first for first, last in spans if last == end)])
    return tuple(sorted([*(span for span in spans if span[1] != end), (start, end)], key=_end))[-ANNOUNCED_SPANS:]


def _end(span: tuple[int, int]) -> int:
    return span[1]


def lose_announced(messages: Messages, replay: Replay, until: int) -> None:
    """Mark choices as lost whose loss was announced up to the offset `until`."""
    if not replay.mark.announced:
        return  # nearly always, and there may be a million messages to search
    for message, choice in messages.in_state(Open):
        if replay.is_announced(choice, until):
            messages.lose(message, choice, announced=True)


def lose(messages: Messages, replay: Replay, fingerprint: str) -> list[tuple[ErrorCode, Choice]]:
    """Mark what the finished replay could not rebuild; returns what has to be announced, and why."""
    lost: list[tuple[ErrorCode, Choice]] = []
    # If a replay lacks beginnings again, what was announced below `missing.until` is unknown: it is announced twice.
    said_until = max(replay.mark.unseen_until, 0 if replay.lossy else replay.mark.missing.until)
    lose_announced(messages, replay, replay.mark.offset)
    for _, choice in messages.in_state(Lost):
        assert isinstance(choice.state, Lost)  # `in_state` selects these
        if not choice.state.announced and choice.first >= said_until:
            lost.append(("state-lost", choice))
        choice.state.announced = True
    for message, choice in messages.in_state(Open) if replay.has_foreign(fingerprint) else ():
        if replay.is_foreign(choice, fingerprint):
            messages.lose(message, choice, announced=True)
            lost.append(("reconfigured", choice))
    return lost


def disown(messages: Messages, gaps: Gaps, offset: int, opened_from: int) -> list[Choice]:
    """Mark choices open at `offset` that opened at `opened_from` or later as lost, and remember it."""
    lost = [(message, choice) for message, choice in messages.in_state(Open) if choice.first >= opened_from]
    for message, choice in lost:
        messages.lose(message, choice, announced=True)
    if lost:
        gaps.announced = with_span(gaps.announced, opened_from, offset)
    return [choice for _, choice in lost]


class ReplayEnd(msgspec.Struct, frozen=True):
    """How a replay ended."""

    lost: int
    """Number of messages that were announced as lost."""
    agrees: bool
    """Whether the state is the one that the mark describes. False is a defect of the log or of this program."""
    moved: Moved | None = None
    """What an offset that was not committed by a worker led to."""
    missing: int = 0
    """Number of open messages of which nothing was read; they are announced as lost if they continue."""


SKIPPED = "records of this message were skipped: the group's offset was set past them"
"""Why a message is lost though the log has all of it."""

GONE = "the topic dropped records before anybody processed them, and they may be of this message"

OTHER_LOG = "the topic that had this message is gone, and another one has its name"

DISAGREES = "reading this message again gave other events than were published"

_WHY: dict[ErrorCode, str] = {
    "state-lost": "the beginning of this message is no longer in the topic, and there is no snapshot of its state",
    "reconfigured": "the configuration changed, and there is no snapshot of this message's state",
    "internal": "tokenmill, or a plug-in, failed on a record of this message; its log says where",
}


def announcement(code: ErrorCode, why: str = "") -> list[Event]:
    """The events that are published for a message whose state can't be recovered."""
    return [Error(code=code, message=why or _WHY[code]), Finish(reason="error")]
