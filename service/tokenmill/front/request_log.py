"""Reads the topic `requests` for a front: all partitions, from some minutes ago, and up to the end when that is needed.

Most requests do not depend on earlier ones, so the reader rests between two reads: otherwise each record would be a
fetch of its own, which costs broker and front as much as a fetch of many. It does not rest while a request waits.
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
"""Seconds between two reads while no request waits. Records about other fronts' readers may be read this much later."""

FETCH_WAIT_MS = 50
"""Milliseconds for which a fetch waits for a record. A request with an `Idempotency-Key` waits for its own record,
which may arrive just after a fetch began."""

CAUGHT_UP_S = 5.0
"""Seconds to read up to an offset. It takes milliseconds."""

LOOK_S = 0.1
"""Seconds between two looks for a new partition: a broker may learn of it only after it was written to."""

Take = Callable[[ConsumerRecord], Any]
"""Takes one record."""


class RequestLog:
    """Hands every record of the topic to `take`, beginning `back_s` seconds ago.

    Its methods raise `Unavailable` if Kafka does not answer.
    """

    def __init__(self, kafka: Kafka, topic: str, back_s: float, take: Take) -> None:
        self._topic = topic
        self._reader = WholeTopic(kafka, topic, back_s, take, FETCH_WAIT_MS)
        self._has_read = asyncio.Condition()
        self._waiting = 0
        self._wanted = asyncio.Event()
        """Set while a request waits."""

    async def start(self) -> None:
        """Connect, and find the offsets to begin at."""
        await self._reader.start()

    async def stop(self) -> None:
        """Disconnect."""
        await self._reader.stop()

    async def run(self) -> None:
        """Read records and hand them to `take`, until cancelled."""
        while True:
            if await self._reader.poll():
                async with self._has_read:
                    self._has_read.notify_all()
                await self._rest()

    async def _rest(self) -> None:
        """Rest for `REST_S`, or until a request waits."""
        if self._wanted.is_set():
            return
        with self._reader.paused(), suppress(TimeoutError):
            async with asyncio.timeout(REST_S):
                await self._wanted.wait()

    async def caught_up(self) -> None:
        """Wait until all records that are in the log now have been handed on, also those of partitions that are new."""
        await self._wait_for(await self._reader.ends())

    async def reached(self, partition: int, offset: int) -> None:
        """Wait until the record at this offset has been handed on."""
        await self._wait_for({TopicPartition(self._topic, partition): offset + 1})

    async def _wait_for(self, ends: Mapping[TopicPartition, int]) -> None:
        try:
            async with asyncio.timeout(CAUGHT_UP_S), self._kept_awake():
                while not all(map(self._reader.reads, ends)):
                    await self._reader.look()
                    await asyncio.sleep(LOOK_S)
                async with self._has_read:
                    await self._has_read.wait_for(partial(self._reader.has_read, ends))
        except TimeoutError as late:
            raise Unavailable(f"Kafka: {self._topic} was not read to its end within {CAUGHT_UP_S:g} s") from late

    @asynccontextmanager
    async def _kept_awake(self) -> AsyncIterator[None]:
        """Keep the reader from resting inside the block."""
        self._waiting += 1
        self._wanted.set()
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._wanted.clear()
