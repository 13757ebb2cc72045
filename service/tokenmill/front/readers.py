"""The readers of each answer at this front, and the stop of answers that have lost their last one.

1. An answer whose last reader has left is stopped after `front.disconnect_s`, unless its request has it continue
   without a reader, or a client reads it again meanwhile: here, or at another front, which then writes a record on
   `requests`.
2. Before the stop, the other fronts are asked on that topic whether they have a reader: one may have had it all along,
   or since before this front noticed that its own had left.
3. Clients that read through a gateway are not counted here: their requests have the header `tm-resumable`.
4. A process that ends stops no answer: its clients come back to other fronts.
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
"""Stops the answer with this conversation and message id. Raises `Refused`."""

ANSWER_S = 3.0
"""Seconds for the other fronts to reply that they have a reader. It takes milliseconds unless they are busy."""


class OtherFronts:
    """Writes records for the other fronts, on the topic `requests`."""

    def __init__(self, producer: Producer, topic: str) -> None:
        self._producer = producer
        self._topic = topic

    async def ask(self, conversation: str, message_id: str) -> None:
        """Ask whether any other front has a reader of an answer; one that has replies by `tell`. Raises `Refused`."""
        await self._write(conversation, LeftRecord(message_id))

    async def tell(self, conversation: str, message_id: str) -> None:
        """Report that an answer has a reader here. Raises `Refused`."""
        await self._write(conversation, ReaderRecord(message_id))

    async def _write(self, conversation: str, record: LeftRecord | ReaderRecord) -> None:
        await self._producer.send(self._topic, conversation.encode(), msgspec.json.encode(record))


class Readers:
    """Counts the readers of answers at this front, which is the only one if there are no `others`."""

    def __init__(self, hub: Hub, disconnect_s: float, stop: Stop, others: OtherFronts | None = None) -> None:
        self._others = others
        self._tasks = Tasks()
        self._hub = hub
        self._disconnect_s = disconnect_s
        self._stop = stop
        self._count: Counter[tuple[str, str]] = Counter()
        """Number of readers by conversation and message id: clients' own conversations may have the same message id."""
        self._leaving: dict[tuple[str, str], asyncio.Task[None]] = {}
        """Stops that may still be called off."""
        self.abandoned = 0
        """Number of answers that were stopped for lack of a reader."""

    @property
    def total(self) -> int:
        """Number of readers of all answers."""
        return self._count.total()

    @contextmanager
    def reading(self, conversation: str, message_id: str, *, stays: bool) -> Iterator["Reader"]:
        """Count one reader for as long as the block lasts. A reader that is not `done` at its end has left."""
        key = conversation, message_id
        self._count[key] += 1
        self.read_elsewhere(*key)
        reader = Reader()
        try:
            yield reader
        finally:
            self._count[key] -= 1
            if not self._count[key]:
                del self._count[key]
                if not (reader.done or stays):
                    self._leave(*key)

    def read_elsewhere(self, conversation: str, message_id: str) -> None:
        """Call off the stop of an answer, as it has a reader again, here or at another front."""
        if (leaving := self._leaving.pop((conversation, message_id), None)) is not None:
            leaving.cancel()

    def asked(self, conversation: str, message_id: str) -> None:
        """Reply to another front that has lost its reader of an answer, if there is a reader here."""
        if self._others is not None and (conversation, message_id) in self._count:
            self._tasks.begin(self._tell(self._others, conversation, message_id), f"the word about {message_id}")

    @staticmethod
    async def _tell(others: OtherFronts, conversation: str, message_id: str) -> None:
        try:
            await others.tell(conversation, message_id)
        except Refused as problem:
            log.warning("another front was not told of a reader, and may stop its answer: %s", problem.detail)

    def _leave(self, conversation: str, message_id: str) -> None:
        self.read_elsewhere(conversation, message_id)
        task = self._tasks.begin(self._stop_unread(conversation, message_id), f"the end of {message_id}")
        self._leaving[conversation, message_id] = task

    async def _stop_unread(self, conversation: str, message_id: str) -> None:
        """Stop an answer after `front.disconnect_s`; a new reader cancels this, and the answer's own end ends it."""
        key, message, over = conversation.encode(), message_id.encode(), asyncio.Event()
        self._hub.watch(key, message, over.set)
        try:
            if await _within(over, self._disconnect_s) or self._hub.closing:
                return
            if self._others is not None:
                await self._others.ask(conversation, message_id)
                if await _within(over, ANSWER_S) or self._hub.closing:
                    return
            self._make_final(conversation, message_id)
            log.info("stopping an answer that has no reader: %s", message_id)
            await self._stop(conversation, message_id)
        except Refused as problem:
            log.warning("an answer that has no reader was not stopped, and continues: %s", problem.detail)
        finally:
            self._hub.unwatch(key, message, over.set)
            if self._leaving.get((conversation, message_id)) is asyncio.current_task():
                del self._leaving[conversation, message_id]

    def _make_final(self, conversation: str, message_id: str) -> None:
        """Keep a new reader from calling the stop off: it consists of two records, and one alone would be wrong."""
        self._leaving.pop((conversation, message_id), None)
        self.abandoned += 1

    async def close(self) -> None:
        """Cancel all stops, and all writes to other fronts."""
        await self._tasks.close()


async def _within(over: asyncio.Event, seconds: float) -> bool:
    """Wait for the event, at most this long. Return whether it came."""
    try:
        async with asyncio.timeout(seconds):
            await over.wait()
    except TimeoutError:
        return False
    return True


class Reader:
    """One client that reads an answer at this front."""

    __slots__ = ("done",)

    def __init__(self) -> None:
        self.done = False
        """Whether it has read all of the answer, or wants no more of it."""
