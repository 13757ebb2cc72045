"""How many calls run at once: of each server, and of all."""

from collections import Counter
from collections.abc import Callable, Mapping


class ConcurrencyLimits:
    """Counts what is taken. Whoever waits for a place is told when one is free."""

    def __init__(self, of_all: int, of_each: int, own: Mapping[str, int] | None = None) -> None:
        """`own`: of servers that have another number than the others."""
        self._of_all = of_all
        self._of_each = of_each
        self._own = own or {}
        self._taken: Counter[str] = Counter()
        self._waiting: set[Callable[[], None]] = set()

    def watch(self, tell: Callable[[], None]) -> Callable[[], None]:
        """Tell of places that become free; returns what ends that."""
        self._waiting.add(tell)
        return lambda: self._waiting.discard(tell)

    def acquire(self, server: str) -> bool:
        """Take a place, if there is one; says whether there was."""
        if self._taken.total() >= self._of_all or self._taken[server] >= self._own.get(server, self._of_each):
            return False
        self._taken[server] += 1
        return True

    def release(self, server: str) -> None:
        """Give back a place: a call is over."""
        self._taken[server] -= 1
        if not self._taken[server]:
            del self._taken[server]  # models make up names of servers
        for tell in list(self._waiting):
            tell()
