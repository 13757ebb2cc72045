"""Whose work is done next, in a thread beside the loop: one piece of work at a time, whoever asks for it."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from tokenmill.gateway.problems import TOO_MANY, Refused

WAIT_S = 30.0
"""For the work that was asked for before: a long text takes seconds."""

AGAIN_S = 10
"""When whoever waited in vain may try again."""

T = TypeVar("T")


class Turns:
    """Work in a thread, one piece at a time: each takes a processor, and as much memory as its answer."""

    def __init__(self, wait_s: float = WAIT_S) -> None:
        self._turn = asyncio.Lock()
        self._wait_s = wait_s

    async def done(self, work: Callable[[], T]) -> T:
        """What the work comes to. Raises `Refused` if it does not have its turn in time."""
        try:
            async with asyncio.timeout(self._wait_s):
                await self._turn.acquire()
        except TimeoutError:
            detail = f"other questions take longer than {self._wait_s:g} s; ask again, or for less"
            raise Refused(TOO_MANY, detail, headers={"retry-after": str(AGAIN_S)}) from None
        running = asyncio.ensure_future(asyncio.to_thread(work))
        running.add_done_callback(self._over)
        return await asyncio.shield(running)  # whoever asked may leave; the thread goes on, and so does its turn

    def _over(self, running: asyncio.Future[T]) -> None:
        self._turn.release()
        if not running.cancelled():
            running.exception()  # nobody may be left who would look at it
