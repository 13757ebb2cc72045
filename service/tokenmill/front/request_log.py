"""The topic `requests` as a front reads it: all of it, from some minutes back, and up to its end when somebody asks.

Most requests need nothing of what was asked before, so between two reads it rests: else each record would be a fetch,
which costs broker and front as much as one of many records. It does not rest while somebody waits.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from aiokafka import ConsumerRecord, TopicPartition

from tokenmill.config import Kafka
from tokenmill.errors import Unavailable
from tokenmill.kafka.whole_topic import WholeTopic

REST_S = 0.1
"""Seconds between two reads while nobody waits. What other fronts say of their readers may be known this much later."""

FETCH_WAIT_MS = 50
"""Milliseconds that a fetch waits. A request with an `Idempotency-Key` waits for its own record, which may arrive just
after a fetch began."""

CAUGHT_UP_S = 5.0
"""Seconds for all of the log to be read. It takes milliseconds."""

LOOK_S = 0.1
"""Seconds between two looks for a partition that was just written to: the broker that is asked may hear of it later."""

Take = Callable[[ConsumerRecord], Any]


class RequestLog:
    """Hands on every record. Raises `Unavailable` when Kafka does not answer."""

    def __init__(self, kafka: Kafka, topic: str, back_s: float, take: Take) -> None:
        self._topic = topic
        self._reader = WholeTopic(kafka, topic, back_s, take, FETCH_WAIT_MS)
        self._came = asyncio.Condition()
        self._waiting = 0
        self._wanted = asyncio.Event()
        """Set while a request waits."""

    async def start(self) -> None:
        """Connect, and find where to begin."""
        await self._reader.start()

    async def stop(self) -> None:
        """Disconnect."""
        await self._reader.stop()

    async def run(self) -> None:
        """Read and hand on until cancelled."""
        while True:
            if await self._reader.poll():
                async with self._came:
                    self._came.notify_all()
                await self._rest()

    async def _rest(self) -> None:
        """Rest until a request waits, or the time is over."""
        if self._wanted.is_set():
            return
        with self._reader.paused(), suppress(TimeoutError):
            async with asyncio.timeout(REST_S):
                await self._wanted.wait()

    async def caught_up(self) -> None:
        """Wait until everything is handed on that is in the log now, in partitions that were new a second ago, too."""
        await self._reached(await self._reader.ends())

    async def reached(self, partition: int, offset: int) -> None:
        """Wait until the record at this offset is handed on."""
        await self._reached({TopicPartition(self._topic, partition): offset + 1})

    async def _reached(self, ends: Mapping[TopicPartition, int]) -> None:
        try:
            async with asyncio.timeout(CAUGHT_UP_S), self._waited_for():
                while not all(map(self._reader.reads, ends)):
                    await self._reader.look()
                    await asyncio.sleep(LOOK_S)
                async with self._came:
                    await self._came.wait_for(partial(self._reader.has_read, ends))
        except TimeoutError as late:
            raise Unavailable(f"Kafka: the reader of {self._topic} does not come to its end") from late

    @asynccontextmanager
    async def _waited_for(self) -> AsyncIterator[None]:
        """Keep the reader from resting inside the block."""
        self._waiting += 1
        self._wanted.set()
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._wanted.clear()
