"""What goes on for ever is a failure like any other."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tests.support.promises import Broken

STUCK_S = 20
"""Processor time for one input, of which a second has hundreds."""


@contextmanager
def in_time() -> Iterator[None]:
    """Raise `promises.Broken` in whatever takes longer."""
    before = signal.signal(signal.SIGVTALRM, _stuck)
    signal.setitimer(signal.ITIMER_VIRTUAL, STUCK_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _stuck(_signal: int, _frame: FrameType | None) -> None:
    raise Broken(f"P7: still going on after {STUCK_S} s")
