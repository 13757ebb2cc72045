"""`LogId`: which log a topic's name stood for.

Names come again: a topic is deleted and made anew, two clusters have the same names. Offsets, snapshots and what was
committed are of one log, and mean nothing in another.
"""

import msgspec


class LogId(msgspec.Struct, array_like=True, frozen=True):
    """Identity of a log. Brokers that are old, or no Kafka, do not tell all of it; empty is unknown."""

    cluster: str = ""
    topic: str = ""
    """The topic's id, which its name does not have twice."""
    branch: int = 0
    """The log lost its end when a leader of this epoch came, and went on otherwise. 0: it never did."""

    def is_another(self, other: "LogId") -> bool:
        """Whether the two are known to be different logs. One that lost its end is no other log."""
        if self.topic and other.topic and self.topic != other.topic:
            return True
        return bool(self.cluster and other.cluster) and self.cluster != other.cluster

    def diverged_from(self, other: "LogId") -> bool:
        """Whether what was read of the other may not be what this one holds."""
        return self.is_another(other) or self.branch != other.branch

    def __str__(self) -> str:
        return f"{self.topic or 'a topic without id'} in {self.cluster or 'a cluster without id'}"


UNKNOWN_LOG = LogId()
"""Of commits of before, and where nobody asked."""

UNKNOWN_EPOCH = -1
"""Likewise of leaders."""
