"""What the gateway's benchmark measures, and what it reports."""

from collections.abc import Sequence
from statistics import median, quantiles
from typing import Self

import msgspec

TICKS = 40
"""Writes to each client in a second: a fast model's tokens, or groups of four of a stream that is collected."""


class Load(msgspec.Struct, frozen=True):
    """One kind of traffic."""

    name: str
    clients: int
    conversations: int
    together: int = 1
    """Records that come at once, and are written at once."""
    budget: int = 0
    """Frames a second of a core, at least, where each is made of a record of its own: the bare server reads none. With
    0 it is half of the bare server's."""


LOADS = (
    Load("one conversation, 200 readers, frames at once", 200, 1),
    Load("one conversation, 200 readers, four frames a write", 200, 1, 4),
    Load("200 conversations, a reader each, frames at once", 200, 200, budget=20_000),
    Load("200 conversations, a reader each, four frames a write", 200, 200, 4, budget=35_000),
)


class Side(msgspec.Struct, frozen=True):
    """One server under one load."""

    us_per_frame: float
    """Microseconds of its processor time."""
    p50_ms: float
    p99_ms: float

    @property
    def frames_per_core(self) -> float:
        """In a second of one processor."""
        return 1e6 / self.us_per_frame


class Compared(msgspec.Struct, frozen=True):
    """Both servers under a load, in turns."""

    load: Load
    gateway: list[Side]
    bare: list[Side]

    @property
    def ratio(self) -> float:
        """The gateway's rate over the bare server's: the median of all rounds."""
        return median(bare.us_per_frame / ours.us_per_frame for ours, bare in zip(self.gateway, self.bare, strict=True))


class Idle(msgspec.Struct, frozen=True):
    """Connections on which nothing happens but heartbeats."""

    connections: int
    bytes_each: float
    core_share: float
    """Of one processor."""


class Beside(msgspec.Struct, frozen=True):
    """Readers of a gateway, first alone, then beside clients that never read."""

    readers: int
    stalled: int
    closed: int
    """Of those, how many the gateway had closed as slow in the end."""
    alone: Side
    crowded: Side
    bytes_each: float
    """Of memory, for each of those that never read."""


class Wait(msgspec.Struct, frozen=True):
    """How long somebody waits, one at a time."""

    name: str
    p50_ms: float
    p99_ms: float
    budget_ms: float = 0
    """For the last hundredth; 0: it is there to compare with."""
    size: int = 0
    """Bytes of the longest answer."""

    @classmethod
    def of(cls, name: str, took: Sequence[float], budget_ms: float = 0, size: int = 0) -> Self:
        """From seconds."""
        percentiles = quantiles(took, n=100)
        return cls(name, percentiles[49] * 1_000, percentiles[98] * 1_000, budget_ms, size)


class Report(msgspec.Struct, frozen=True):
    """All of it."""

    compared: list[Compared]
    idle: Idle
    beside: Beside
    waits: list[Wait]
    follower_p50_ms: float
    """From a record's timestamp to a reader of the topic, under the load of the first row."""
    follower_p99_ms: float
