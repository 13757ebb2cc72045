"""What the gateway's benchmark measures, and what it reports."""

from collections.abc import Sequence
from typing import Self

import msgspec

from tokenmill.bench.clock import median_ratio, p50_p99

TICKS = 40
"""Writes to each client per second: a fast model's tokens, or groups of four tokens."""


class Load(msgspec.Struct, frozen=True):
    """One kind of traffic."""

    name: str
    clients: int
    conversations: int
    together: int = 1
    """Records that arrive and are written together."""
    budget: int = 0
    """Minimum of frames per second and core if each is made from its own record, as the bare server reads none. 0
    stands for half of the bare server's rate."""


LOADS = (
    Load("one conversation, 200 readers, frames at once", 200, 1),
    Load("one conversation, 200 readers, four frames a write", 200, 1, 4),
    Load("200 conversations, a reader each, frames at once", 200, 200, budget=20_000),
    Load("200 conversations, a reader each, four frames a write", 200, 200, 4, budget=35_000),
)


class Side(msgspec.Struct, frozen=True):
    """One server under one load."""

    us_per_frame: float
    """Microseconds of the server's processor time."""
    p50_ms: float
    p99_ms: float

    @property
    def frames_per_core(self) -> float:
        """Return the frames per second of one processor."""
        return 1e6 / self.us_per_frame


class Compared(msgspec.Struct, frozen=True):
    """Both servers under a load, in turns."""

    load: Load
    gateway: list[Side]
    bare: list[Side]

    @property
    def ratio(self) -> float:
        """Return the gateway's rate over the bare server's: the median of all rounds."""
        return median_ratio(*([side.us_per_frame for side in sides] for sides in (self.bare, self.gateway)))


class Idle(msgspec.Struct, frozen=True):
    """Connections that carry only heartbeats."""

    connections: int
    bytes_each: float
    core_share: float
    """Share of one processor."""


class Beside(msgspec.Struct, frozen=True):
    """Readers of a gateway, first alone, then beside clients that never read."""

    readers: int
    stalled: int
    closed: int
    """Number of those that the gateway had closed as slow by the end."""
    alone: Side
    crowded: Side
    bytes_each: float
    """Bytes of memory for each client that never reads."""


class Wait(msgspec.Struct, frozen=True):
    """How long a client waits, measured one at a time."""

    name: str
    p50_ms: float
    p99_ms: float
    budget_ms: float = 0
    """Budget of the p99; 0 for a wait that is only a reference."""
    size: int = 0
    """Bytes of the longest answer."""

    @classmethod
    def of(cls, name: str, took: Sequence[float], budget_ms: float = 0, size: int = 0) -> Self:
        """Make one from times in seconds."""
        return cls(name, *p50_p99([seconds * 1_000 for seconds in took]), budget_ms, size)


class Report(msgspec.Struct, frozen=True):
    """All results."""

    compared: list[Compared]
    idle: Idle
    beside: Beside
    waits: list[Wait]
    follower_p50_ms: float
    """Milliseconds from a record's timestamp to a reader of the topic, under the load of the first row."""
    follower_p99_ms: float
