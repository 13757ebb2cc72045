"""A circuit breaker: a server that fails again and again is left alone, and then tried by one request.

The snapshot store has another one, `store.guarded.Breaker`: nobody waits for it, so one failure is enough there.
"""

from typing import Generic, TypeVar

T = TypeVar("T")


class Breaker(Generic[T]):
    """Counts a server's failures in a row. Times are in seconds, by the clock of whoever uses it."""

    def __init__(self, most: int, rest_s: float) -> None:
        """After `most` failures in a row, and after each further one, the server is left alone for `rest_s`."""
        self._most = most
        self._rest_s = rest_s
        self.failures = 0
        """Number of failures in a row."""
        self.until = 0.0
        """When it may be probed, if it is `broken`."""
        self.probe: T | None = None
        """The request that probes it, until its answer begins. Answers from before the failures are no probes: a long
        one would show nothing soon."""

    @property
    def broken(self) -> bool:
        """Whether it has failed so often that it has to be probed first."""
        return self.failures >= self._most

    def closed(self, now: float) -> bool:
        """Whether requests must not ask it: for `rest_s`, and then while a probe is running."""
        return self.broken and (now < self.until or self.probe is not None)

    def rests(self, now: float) -> float:
        """Return the seconds until it may be probed."""
        return max(0.0, self.until - now) if self.broken else 0.0

    def works(self) -> None:
        """Record that it has answered, so that all may ask it."""
        self.failures = 0
        self.probe = None

    def fails(self, now: float) -> None:
        """Count another failure in a row."""
        self.failures += 1
        self.until = now + self._rest_s
