"""Who reads which answer here, and what becomes of answers that nobody reads.

1. An answer whose last reader has left is stopped after `front.disconnect_s`, unless its request said that it stays, or
   somebody reads it again: here, or, as the topic `requests` tells, at another front.
2. Who reads through a gateway is not known here: such requests say `tm-resumable`.
3. A process that ends stops nothing: its clients come back elsewhere.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from tokenmill.gateway.hub import Hub

log = logging.getLogger(__name__)

Stop = Callable[[str, str], Awaitable[None]]
"""Stops the answer of a conversation and an id."""


class Readers:
    """Counts them."""

    def __init__(self, hub: Hub, disconnect_s: float, stop: Stop) -> None:
        self._hub = hub
        self._disconnect_s = disconnect_s
        self._stop = stop
        self._count: Counter[str] = Counter()
        self._leaving: dict[str, asyncio.Task[None]] = {}
        self.abandoned = 0
        """Answers that were stopped."""

    @property
    def total(self) -> int:
        """Readers of all answers."""
        return self._count.total()

    @contextmanager
    def reading(self, conversation: str, message_id: str, *, stays: bool) -> Iterator["Read"]:
        """One reader, as long as the block lasts; who does not say that it is done has left."""
        self._count[message_id] += 1
        self.read_elsewhere(message_id)
        read = Read()
        try:
            yield read
        finally:
            self._count[message_id] -= 1
            if not self._count[message_id]:
                del self._count[message_id]
                if not (read.done or stays):
                    self._leave(conversation, message_id)

    def read_elsewhere(self, message_id: str) -> None:
        """Somebody reads it: it need not be stopped by us."""
        if (leaving := self._leaving.pop(message_id, None)) is not None:
            leaving.cancel()

    def _leave(self, conversation: str, message_id: str) -> None:
        self.read_elsewhere(message_id)
        task = asyncio.create_task(self._left(conversation, message_id), name=f"the end of {message_id}")
        self._leaving[message_id] = task

    async def _left(self, conversation: str, message_id: str) -> None:
        """Stop it when the time is over, and it is not."""
        key, message, over = conversation.encode(), message_id.encode(), asyncio.Event()
        self._hub.watch(key, message, over.set)
        try:
            async with asyncio.timeout(self._disconnect_s):
                await over.wait()
        except TimeoutError:
            self.abandoned += 1
            log.info("an answer is stopped, as nobody reads it: %s", message_id)
            await self._stop(conversation, message_id)
        finally:
            self._hub.unwatch(key, message, over.set)
            if self._leaving.get(message_id) is asyncio.current_task():
                del self._leaving[message_id]

    async def close(self) -> None:
        """Stop nothing more."""
        tasks = list(self._leaving.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Read:
    """What a reader says of itself."""

    __slots__ = ("done",)

    def __init__(self) -> None:
        self.done = False
        """It has all of the answer, or wants no more of it."""
