"""Room for what Kafka has not acknowledged: bytes under a cap, given out in the order in which they are asked for."""

import asyncio
from collections import deque


class Room:
    """So many bytes may be taken at once. What is larger than all of it is let in alone."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self.taken = 0
        """Bytes that are out now."""

    def try_take(self, size: int) -> bool:
        """Take so many bytes if nobody has to wait for it."""
        if self._waiting or not self._fits(size):
            return False
        self.taken += size
        return True

    async def take(self, size: int) -> None:
        """Wait until there is room for so many bytes, and until those who asked before have theirs."""
        if self.try_take(size):
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give(size)  # it was given in the moment in which its taker left
            elif (size, turn) in self._waiting:  # else it was passed over before it knew that it leaves
                self._waiting.remove((size, turn))
                self._let_in()
            raise

    def give(self, size: int) -> None:
        """Bytes that were taken are free again."""
        self.taken -= size
        self._let_in()

    def _fits(self, size: int) -> bool:
        return self.taken == 0 or self.taken + size <= self._cap

    def _let_in(self) -> None:
        while self._waiting and self._fits(self._waiting[0][0]):
            size, turn = self._waiting.popleft()
            if not turn.done():
                self.taken += size
                turn.set_result(None)
