"""The readers of each answer at this front, and what becomes of answers without a reader.

1. An answer whose last reader has left is stopped after `front.disconnect_s`, unless its request said that it stays, or
   a client reads it again: here, or, as a record on `requests` says, at another front.
2. Before it is stopped the other fronts are asked on that topic: one may have had a reader all along, or since before
   this front noticed that its own had left.
3. Clients that read through a gateway are not known here: their requests say `tm-resumable`.
4. A process that ends stops nothing: its clients come back elsewhere.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import msgspec

from tokenmill.apis.record import LeftRecord, ReaderRecord
from tokenmill.gateway.ingest.producer import Producer
from tokenmill.gateway.problems import Refused
from tokenmill.gateway.streams.hub import Hub
from tokenmill.tasks import Tasks

log = logging.getLogger(__name__)

Stop = Callable[[str, str], Awaitable[None]]
"""Stops the answer of a conversation and an id."""

ANSWER_S = 3.0
"""Seconds for the other fronts to answer that they have a reader. It takes milliseconds unless they are busy."""


class OtherFronts:
    """Writes to the other fronts, on the topic `requests`."""

    def __init__(self, producer: Producer, topic: str) -> None:
        self._producer = producer
        self._topic = topic

    async def ask(self, conversation: str, message_id: str) -> None:
        """Ask whether any has a reader of an answer; one that has answers by `tell`. Raises `Refused`."""
        await self._say(conversation, LeftRecord(message_id))

    async def tell(self, conversation: str, message_id: str) -> None:
        """Tell them that an answer has a reader here. Raises `Refused`."""
        await self._say(conversation, ReaderRecord(message_id))

    async def _say(self, conversation: str, record: LeftRecord | ReaderRecord) -> None:
        await self._producer.send(self._topic, conversation.encode(), msgspec.json.encode(record))


class Readers:
    """Counts the readers of answers here. Without `others` this is the only front."""

    def __init__(self, hub: Hub, disconnect_s: float, stop: Stop, others: OtherFronts | None = None) -> None:
        self._others = others
        self._tasks = Tasks()
        self._hub = hub
        self._disconnect_s = disconnect_s
        self._stop = stop
        self._count: Counter[tuple[str, str]] = Counter()
        """By conversation and id: an id that names no conversation stands for one of each client."""
        self._leaving: dict[tuple[str, str], asyncio.Task[None]] = {}
        self.abandoned = 0
        """Number of answers that were stopped."""

    @property
    def total(self) -> int:
        """Number of readers of all answers."""
        return self._count.total()

    @contextmanager
    def reading(self, conversation: str, message_id: str, *, stays: bool) -> Iterator["Reader"]:
        """Count one reader for as long as the block lasts. One that is not `done` at its end has left."""
        who = conversation, message_id
        self._count[who] += 1
        self.read_elsewhere(*who)
        reader = Reader()
        try:
            yield reader
        finally:
            self._count[who] -= 1
            if not self._count[who]:
                del self._count[who]
                if not (reader.done or stays):
                    self._leave(*who)

    def read_elsewhere(self, conversation: str, message_id: str) -> None:
        """Note that an answer has a reader elsewhere: this front need not stop it."""
        if (leaving := self._leaving.pop((conversation, message_id), None)) is not None:
            leaving.cancel()

    def asked(self, conversation: str, message_id: str) -> None:
        """Answer another front that no longer has a reader of an answer, if there is one here."""
        if self._others is not None and (conversation, message_id) in self._count:
            self._tasks.begin(self._tell(self._others, conversation, message_id), f"the word about {message_id}")

    @staticmethod
    async def _tell(others: OtherFronts, conversation: str, message_id: str) -> None:
        try:
            await others.tell(conversation, message_id)
        except Refused as problem:
            log.warning("the other fronts do not hear of a reader: %s", problem.detail)

    def _leave(self, conversation: str, message_id: str) -> None:
        self.read_elsewhere(conversation, message_id)
        task = self._tasks.begin(self._left(conversation, message_id), f"the end of {message_id}")
        self._leaving[conversation, message_id] = task

    async def _left(self, conversation: str, message_id: str) -> None:
        """Stop an answer if it still has no reader when the time is over."""
        key, message, over = conversation.encode(), message_id.encode(), asyncio.Event()
        self._hub.watch(key, message, over.set)
        try:
            if await _within(over, self._disconnect_s):
                return
            if self._others is not None:
                await self._others.ask(conversation, message_id)
                if await _within(over, ANSWER_S):
                    return
            self._stopping(conversation, message_id)
            log.info("an answer is stopped, as nobody reads it: %s", message_id)
            await self._stop(conversation, message_id)
        except Refused as problem:
            log.warning("an answer goes on that nobody reads: %s", problem.detail)
        finally:
            self._hub.unwatch(key, message, over.set)
            if self._leaving.get((conversation, message_id)) is asyncio.current_task():
                del self._leaving[conversation, message_id]

    def _stopping(self, conversation: str, message_id: str) -> None:
        """From here on the answer is stopped, whoever comes: a stop is two records, and half of one helps nobody."""
        self._leaving.pop((conversation, message_id), None)
        self.abandoned += 1

    async def close(self) -> None:
        """Cancel all stops that are due."""
        await self._tasks.close()


async def _within(over: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await over.wait()
    except TimeoutError:
        return False
    return True


class Reader:
    """A reader of an answer."""

    __slots__ = ("done",)

    def __init__(self) -> None:
        self.done = False
        """Whether it has all of the answer, or wants no more of it."""
