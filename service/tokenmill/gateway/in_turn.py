"""Work in a thread beside the loop, one piece at a time: each takes a processor, and as much memory as its answer.

Names take turns at it: who asks for much keeps another one waiting for the piece that is being done, and for one of
each name that came before.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from tokenmill.gateway.problems import TOO_MANY, Refused
from tokenmill.gateway.turns import Turns

WAIT_S = 30.0
"""For the work that comes before: a long text, or formats that live together, take seconds."""

AGAIN_S = 10
"""When whoever waited in vain may try again."""

T = TypeVar("T")


class InTurn:
    """The work of one kind. `late` says to those that wait for more than `wait_s` why, and what they can do."""

    def __init__(self, late: str, wait_s: float = WAIT_S) -> None:
        self._turns = Turns(1)
        self._late = late
        self._wait_s = wait_s

    async def done(self, name: str, work: Callable[[], T]) -> T:
        """What the work of this name comes to. Raises `Refused` if it does not have its turn in time."""
        try:
            async with asyncio.timeout(self._wait_s):
                await self._turns.take(name)
        except TimeoutError:
            detail = f"there was no turn within {self._wait_s:g} s: {self._late}"
            raise Refused(TOO_MANY, detail, headers={"retry-after": str(AGAIN_S)}) from None
        running = asyncio.ensure_future(asyncio.to_thread(work))
        running.add_done_callback(self._over)
        return await asyncio.shield(running)  # whoever asked may leave; the thread goes on, and so does its turn

    def _over(self, running: asyncio.Future[T]) -> None:
        self._turns.give_back()
        if not running.cancelled():
            running.exception()  # nobody may be left who would look at it
