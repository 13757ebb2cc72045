"""Whose turn it is: so many at once, and of those that wait the names one after another.

Within a name it is first come, first served. However many wait of one name, another one's turn comes after one of each.
"""

import asyncio
from collections import deque


class Turns:
    """So many of them."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def take(self, name: str) -> None:
        """Wait for a turn. It has to be given back."""
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
                self.give_back()  # it was given, and nobody is there to use it
            raise

    def give_back(self) -> None:
        """The next one's turn begins."""
        while self._waiting:
            name = next(iter(self._waiting))
            queue = self._waiting.pop(name)
            turn = _first(queue)
            if queue:
                self._waiting[name] = queue  # behind the other names
            if turn is not None:
                turn.set_result(None)
                return
        self._free += 1

    def _leave(self, name: str, turn: asyncio.Future[None]) -> None:
        queue = self._waiting.get(name)
        if queue is None or turn not in queue:
            return  # somebody gave a turn back just now, and went past this one
        queue.remove(turn)
        if not queue:
            del self._waiting[name]


def _first(queue: deque[asyncio.Future[None]]) -> asyncio.Future[None] | None:
    """The first one that still waits, taken out: one that is cancelled is in the queue until its task runs again."""
    while queue:
        turn = queue.popleft()
        if not turn.done():
            return turn
    return None
