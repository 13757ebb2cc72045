"""Limits of the calls that run at once: for each server, and for all together."""

from collections import Counter
from collections.abc import Callable, Mapping


class ConcurrencyLimits:
    """Counts the places that are taken, and reports each that becomes free."""

    def __init__(self, of_all: int, of_each: int, own: Mapping[str, int] | None = None) -> None:
        """`own` has the servers with a limit of their own."""
        self._of_all = of_all
        self._of_each = of_each
        self._own = own or {}
        self._taken: Counter[str] = Counter()
        self._waiting: set[Callable[[], None]] = set()

    def watch(self, tell: Callable[[], None]) -> Callable[[], None]:
        """Call `tell` whenever a place becomes free; return a function that ends this."""
        self._waiting.add(tell)
        return lambda: self._waiting.discard(tell)

    def acquire(self, server: str) -> bool:
        """Take a place if one is free; return whether one was."""
        if self._taken.total() >= self._of_all or self._taken[server] >= self._own.get(server, self._of_each):
            return False
        self._taken[server] += 1
        return True

    def release(self, server: str) -> None:
        """Give back the place of a call that is over."""
        self._taken[server] -= 1
        if not self._taken[server]:
            del self._taken[server]  # models invent names of servers
        for tell in list(self._waiting):
            tell()
