"""What the front's benchmark measures, and what it reports."""

from collections.abc import Callable, Mapping
from statistics import median

import msgspec

from tokenmill.bench.clock import median_ratio

RATE = 50
"""Tokens a second of each answer."""


class Load(msgspec.Struct, frozen=True):
    """A number of concurrent answers, each of a number of tokens."""

    name: str
    clients: int
    tokens: int
    budgets: bool = False
    """Whether the times have a budget."""


LOADS = (
    Load("one answer at a time", 1, 10),
    Load("50 answers at once", 50, 100),
    Load("100 answers at once", 100, 100),
    Load("200 answers at once", 200, 100, budgets=True),
    Load("answers of one token, 32 at once", 32, 1),
)


class Side(msgspec.Struct, frozen=True):
    """One way to the model server, under one load."""

    answers_s: float
    tokens_s: float
    first_p50_ms: float
    """Milliseconds from the request until the first token."""
    first_p99_ms: float
    token_p50_ms: float
    """Milliseconds from the model server's sending a token until the client has it."""
    token_p99_ms: float
    costs_us: Mapping[str, float]
    """Processor time for each token, by process."""
    in_line: float = 0.0
    """Share of the time in which the server was ready to work, but other processes had the processors."""


Figure = Callable[[Side], float]


class Compared(msgspec.Struct, frozen=True):
    """Both ways under a load, in turns."""

    load: Load
    direct: list[Side]
    front: list[Side]

    def added(self, figure: Figure) -> float:
        """Return how much the front adds to a figure: the median of all rounds."""
        return median(figure(ours) - figure(bare) for ours, bare in zip(self.front, self.direct, strict=True))

    def share(self, figure: Figure) -> float:
        """Return the front's figure over the direct one: the median of all rounds."""
        return median_ratio(*([figure(side) for side in sides] for sides in (self.front, self.direct)))

    def costs(self) -> dict[str, float]:
        """Return the microseconds for each token through the front, by process: medians."""
        return {name: median(side.costs_us[name] for side in self.front) for name in self.front[0].costs_us}


class Stops(msgspec.Struct, frozen=True):
    """Times from a cancel request until the model server's connection was closed."""

    count: int
    p50_ms: float
    p99_ms: float


class Report(msgspec.Struct, frozen=True):
    """All results."""

    compared: list[Compared]
    stops: Stops
    flush_ms: int
    """`gateway.flush_ms` of the front."""
