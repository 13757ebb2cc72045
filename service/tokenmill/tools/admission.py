"""Whether calls may be sent to a server whose connections break under them again and again.

1. A call that is under way when its connection breaks is lost: nobody knows what it did. All calls that run then are
   lost together, so each connection counts once.
2. After `FAILURES` in a row, without a call that was answered between them, no call is sent for `BREAK_S`. Then one
   tries the server, and the others wait for what comes of it.
3. A try that takes longer than `TRY_S` holds nobody up: a tool may take minutes, and a server that breaks off is quick.
   If it ends and tells nothing, as one that is cancelled, another call tries.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tokenmill.breaker import Breaker

FAILURES = 5
"""In a row: a call may end its server, and be made again by its model once or twice."""

BREAK_S = 30.0
"""Seconds, as long as the longest pause between tries to connect to a server that is not there."""

TRY_S = 5.0
"""Seconds that calls wait for a try. They hold places meanwhile."""


class Admission:
    """Admits calls to one server."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._breaker: Breaker[asyncio.Event] = Breaker(FAILURES, BREAK_S)

    @property
    def failures(self) -> int:
        """Connections in a row that broke under calls."""
        return self._breaker.failures

    @property
    def rest_s(self) -> float:
        """Seconds for which no call is sent."""
        return self._breaker.rests(self._now())

    def fails(self) -> None:
        """Note that a connection broke under its calls."""
        self._breaker.fails(self._now())

    def works(self) -> None:
        """Note that a call was answered, whatever the answer is."""
        if (tried := self._breaker.probe) is not None:
            tried.set()
        self._breaker.works()

    async def wait(self) -> None:
        """Wait while another call tries the server, but not for long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(TRY_S):
                while (tried := self._breaker.probe) is not None:
                    await tried.wait()

    @contextmanager
    def sent(self) -> Iterator[None]:
        """Send a call in the block, which may be the try."""
        tries = asyncio.Event()
        if self._breaker.broken and self._breaker.probe is None:
            self._breaker.probe = tries
        try:
            yield
        finally:
            tries.set()
            if self._breaker.probe is tries:
                self._breaker.probe = None
