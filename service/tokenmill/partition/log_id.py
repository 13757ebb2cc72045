"""`LogId`: which log a topic's name stood for.

Names are reused: a topic is deleted and created again, two clusters have topics of the same name. Offsets, snapshots
and commits belong to one log and mean nothing in another.
"""

import msgspec


class LogId(msgspec.Struct, array_like=True, frozen=True):
    """Identity of a log. Old brokers, and those other than Kafka, don't report all of it; empty means unknown."""

    cluster: str = ""
    topic: str = ""
    """The topic's id, never used twice for the same name."""
    branch: int = 0
    """Epoch of the leader under which the log lost its end and diverged; 0: never."""

    def is_another(self, other: "LogId") -> bool:
        """Whether the two are known to be different logs. One that lost its end is still the same log."""
        if self.topic and other.topic and self.topic != other.topic:
            return True
        return bool(self.cluster and other.cluster) and self.cluster != other.cluster

    def diverged_from(self, other: "LogId") -> bool:
        """Whether this log may differ from what was read of the other."""
        return self.is_another(other) or self.branch != other.branch

    def __str__(self) -> str:
        return f"{self.topic or 'a topic without id'} in {self.cluster or 'a cluster without id'}"


UNKNOWN_LOG = LogId()
"""For commits of older versions, and where nobody asked."""

UNKNOWN_EPOCH = -1
"""The same for the epoch of a leader."""
