"""A clock that goes when it is told to."""

from dataclasses import dataclass


@dataclass
class Clock:
    """Called, it says the time `now`, in seconds, which a test moves on."""

    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now
