"""Fairness between names: a semaphore whose turns go round the waiting names, and a thread that is shared the same way.

Within a name it is first come, first served. However many wait under one name, another name waits for one turn of each.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from tokenmill.gateway.problems import TOO_MANY, Refused
from tokenmill.tasks import looked_at

WAIT_S = 30.0
"""Seconds to wait for other callers' work: a long text, or a combination of formats, takes seconds."""

AGAIN_S = 10
"""Seconds after which a caller that waited in vain may try again."""

T = TypeVar("T")


class FairSemaphore:
    """A semaphore for at most `most` holders at once, whose waiting names take turns."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def acquire(self, name: str) -> None:
        """Wait for a turn, which has to be released."""
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(name, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._leave(name, turn)
            else:
                self.release()  # the turn was given, but its caller has left
            raise

    def release(self) -> None:
        """End a turn, and begin the next one's."""
        while self._waiting:
            name = next(iter(self._waiting))
            queue = self._waiting.pop(name)
            turn = _first(queue)
            if queue:
                self._waiting[name] = queue  # after the other names
            if turn is not None:
                turn.set_result(None)
                return
        self._free += 1

    def _leave(self, name: str, turn: asyncio.Future[None]) -> None:
        queue = self._waiting.get(name)
        if queue is None or turn not in queue:
            return  # a release has just passed it over
        queue.remove(turn)
        if not queue:
            del self._waiting[name]


def _first(queue: deque[asyncio.Future[None]]) -> asyncio.Future[None] | None:
    """Take out the first turn that is still awaited: a cancelled one stays in the queue until its task runs again."""
    while queue:
        turn = queue.popleft()
        if not turn.done():
            return turn
    return None


class FairThread:
    """A thread beside the loop that does one piece of work at a time, for each name in turn.

    Each piece takes a processor, and as much memory as its answer. `late` is the explanation and advice for callers
    that waited longer than `wait_s`.
    """

    def __init__(self, late: str, wait_s: float = WAIT_S) -> None:
        self._turns = FairSemaphore(1)
        self._late = late
        self._wait_s = wait_s

    async def run(self, name: str, work: Callable[[], T]) -> T:
        """Do work under this name, and return its result. Raises `Refused` if its turn does not come in time."""
        try:
            async with asyncio.timeout(self._wait_s):
                await self._turns.acquire(name)
        except TimeoutError:
            detail = f"the work did not begin within {self._wait_s:g} s: {self._late}"
            raise Refused(TOO_MANY, detail, headers={"retry-after": str(AGAIN_S)}) from None
        running = asyncio.ensure_future(asyncio.to_thread(work))
        running.add_done_callback(lambda _: self._turns.release())
        running.add_done_callback(looked_at)  # the caller may leave; the thread continues, and so does its turn
        return await asyncio.shield(running)
