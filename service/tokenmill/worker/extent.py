"""What the brokers have of a partition: what a group committed, and what the topic holds."""

from typing import NamedTuple

from tokenmill.partition import UNKNOWN_EPOCH, UNKNOWN_LOG, LogId, Mark, Move


class Committed(NamedTuple):
    """What the broker has of a group's partition."""

    offset: int
    mark: Mark | None
    """None: the offset was set by something else than a worker."""
    move: Move | None = None
    """Such an offset, understood: the mark is made up (see `moved`), and this is known of what was processed before."""


class Extent(NamedTuple):
    """What the topic holds of a partition: from `first` up to and without `end`."""

    first: int
    end: int
    log: LogId = UNKNOWN_LOG
    """Which log it is."""
    epoch: int = UNKNOWN_EPOCH
    """The leader's."""
    shared: int | None = None
    """Up to here it is what was read when the mark was made. None: nobody can tell, or asked."""

    @property
    def agreed(self) -> int:
        """Where what is committed may end at most."""
        return self.end if self.shared is None else min(self.end, self.shared)
