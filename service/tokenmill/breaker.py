"""A circuit breaker: a server that fails again and again is left alone, and then tried by one request.

The snapshot store has another one, `store.guarded.Breaker`: nobody waits for it, so one failure is enough there.
"""

from typing import Generic, TypeVar

T = TypeVar("T")


class Breaker(Generic[T]):
    """Counts a server's failures in a row. The times are the caller's, in seconds."""

    def __init__(self, most: int, rest_s: float) -> None:
        """After `most` failures the server is left alone for `rest_s`, and after each further one."""
        self._most = most
        self._rest_s = rest_s
        self.failures = 0
        """In a row."""
        self.until = 0.0
        """It is left alone up to then."""
        self.probe: T | None = None
        """The try, until something of its answer comes. An answer from before the failures is none: a long one says
        nothing soon."""

    @property
    def broken(self) -> bool:
        """Whether it has failed too often to be asked without a try."""
        return self.failures >= self._most

    def closed(self, now: float) -> bool:
        """Whether it is left alone; while one request tries it, for all others."""
        return self.broken and (now < self.until or self.probe is not None)

    def rests(self, now: float) -> float:
        """Return for how long nobody tries it yet."""
        return max(0.0, self.until - now) if self.broken else 0.0

    def works(self) -> None:
        """It has answered: there is nothing to try."""
        self.failures = 0
        self.probe = None

    def fails(self, now: float) -> None:
        """Count one more failure in a row."""
        self.failures += 1
        self.until = now + self._rest_s
