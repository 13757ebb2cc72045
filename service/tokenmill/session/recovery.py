"""What a replay can't rebuild, and what is said of it.

A replay from the low-water mark gives the state that was, with two exceptions. A message whose opening the topic no
longer holds is *unseen*. A message that was opened under another configuration is *foreign*: its options are in a
snapshot or nowhere. Both are announced once: with an `error` and a `finish`, without `seq`. Commits carry what was
announced, so that a later replay does not announce it again and does not take such a message for a sound one.
"""

import msgspec

from tokenmill.events import Error, ErrorCode, Event, Finish
from tokenmill.session.mark import Mark
from tokenmill.session.message import OPEN, Choice


class History(msgspec.Struct, array_like=True):
    """What of the log below can't be replayed as it was. Offsets; 0 where there is nothing."""

    unseen_until: int = 0
    """Messages first seen below it without their opening were announced as lost."""
    foreign_until: int = 0
    """Messages opened below it were opened under another configuration."""
    announced_from: int = 0
    """Of those, the ones opened from here on were announced as lost."""

    def prune(self, low_water: int) -> None:
        """Forget what no replay reaches any more."""
        if low_water >= self.unseen_until:
            self.unseen_until = 0
        if low_water >= self.foreign_until:
            self.foreign_until = self.announced_from = 0


class Replay(msgspec.Struct, frozen=True):
    """A replay that is going on."""

    mark: Mark
    start: int
    """Where it began: what is older came from a snapshot, or is unseen."""
    lossy: bool

    @property
    def unseen_until(self) -> int:
        """Below this offset, openings may be missing."""
        return self.mark.offset if self.lossy else self.mark.unseen_until

    def foreign_until(self, fingerprint: str) -> int:
        """Below this offset, messages were opened under another configuration than `fingerprint`."""
        return self.mark.offset if fingerprint != self.mark.fingerprint else self.mark.foreign_until

    def history(self, fingerprint: str) -> History:
        """What no later replay can rebuild."""
        foreign_until = self.foreign_until(fingerprint)
        if not foreign_until:
            return History(unseen_until=self.unseen_until)
        announced_from = min(self.start, self.mark.announced_from) if self.mark.foreign_until else self.start
        return History(self.unseen_until, foreign_until, announced_from)

    @property
    def has_announced(self) -> bool:
        """Whether there can be any choice that `is_announced`."""
        return self.mark.announced_from < self.mark.foreign_until

    def has_foreign(self, fingerprint: str) -> bool:
        """Whether there can be any choice that `is_foreign`."""
        return self.start < self.foreign_until(fingerprint)

    def is_announced(self, choice: Choice) -> bool:
        """Whether a foreign choice was announced as lost when the configuration changed."""
        return choice.status == OPEN and self.mark.announced_from <= choice.pinned < self.mark.foreign_until

    def is_foreign(self, choice: Choice, fingerprint: str) -> bool:
        """Whether a choice that the replay opened had other options in truth."""
        return choice.status == OPEN and self.start <= choice.pinned < self.foreign_until(fingerprint)


class ReplayEnd(msgspec.Struct, frozen=True):
    """How a replay ended."""

    lost: int
    """Messages that were announced as lost."""
    agrees: bool
    """The state is the one that the mark describes. False is a defect, of the log or of this program."""


_WHY: dict[ErrorCode, str] = {
    "state-lost": "the beginning of this message is no longer in the topic, and there is no snapshot of its state",
    "reconfigured": "the configuration changed, and there is no snapshot of this message's state",
}


def announcement(code: ErrorCode) -> list[Event]:
    """What is published of a message whose state can't be had."""
    return [Error(code=code, message=_WHY[code]), Finish(reason="error")]
