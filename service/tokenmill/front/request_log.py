"""The topic `requests` as a front reads it: all of it, from some minutes back, and up to its end when somebody asks.

Most requests need nothing of what was asked before, so between two reads it rests: else each record would be a fetch,
which costs broker and front as much as one of many records. It does not rest while somebody waits.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from tokenmill.config import Kafka
from tokenmill.errors import Unavailable
from tokenmill.kafka.calls import deadline, started, stopped, stopped_on_failure
from tokenmill.kafka.clients import make_reader
from tokenmill.kafka.lookup import offsets_since
from tokenmill.kafka.topics import find_topic

POLL_MS = 200

REST_S = 0.1
"""Between two reads, while nobody waits. What other fronts say of their readers may be known so much later."""

FETCH_WAIT_MS = 50
"""A request with an `Idempotency-Key` waits for its own record, which may come just behind the beginning of a fetch."""

CAUGHT_UP_S = 5.0
"""For what is in the log to be read: it takes milliseconds."""

Take = Callable[[ConsumerRecord], Any]


class RequestLog:
    """Hands on every record. Raises `Unavailable` when Kafka does not answer."""

    def __init__(self, kafka: Kafka, topic: str, back_s: float, take: Take) -> None:
        self._kafka = kafka
        self._topic = topic
        self._back_ms = int(back_s * 1000)
        self._take = take
        self._consumer: AIOKafkaConsumer | None = None
        self._read: dict[TopicPartition, int] = {}
        """Offsets behind what was handed on."""
        self._came = asyncio.Condition()
        self._waiting = 0
        self._wanted = asyncio.Event()
        """Somebody waits."""

    async def start(self) -> None:
        """Connect, and find where to begin."""
        await find_topic(self._kafka, self._topic)
        consumer = await started(self._reader, f"read {self._topic}", self._kafka.startup_timeout_s)
        self._consumer = consumer
        places = sorted(consumer.assignment())
        since = int(time.time() * 1000) - self._back_ms
        async with stopped_on_failure(consumer):
            self._read = await offsets_since(consumer, places, since)
        for place, offset in self._read.items():
            consumer.seek(place, offset)

    async def stop(self) -> None:
        """Disconnect."""
        if self._consumer is not None:
            await stopped(self._consumer)

    async def run(self) -> None:
        """Read and hand on until cancelled."""
        consumer = self._started()
        while True:
            batches = await deadline(consumer.getmany(timeout_ms=POLL_MS), f"read {self._topic}")
            for place, records in batches.items():
                for record in records:
                    self._take(record)
                self._read[place] = records[-1].offset + 1
            if batches:
                async with self._came:
                    self._came.notify_all()
                await self._rest(consumer)

    async def _rest(self, consumer: AIOKafkaConsumer) -> None:
        """Until somebody waits, or it is time. Nothing is fetched meanwhile but what was asked for before."""
        if self._wanted.is_set():
            return
        places = consumer.assignment()
        consumer.pause(*places)
        with suppress(TimeoutError):
            async with asyncio.timeout(REST_S):
                await self._wanted.wait()
        consumer.resume(*places)

    async def caught_up(self) -> None:
        """Wait until everything is handed on that is in the log now."""
        consumer = self._started()
        ends = await deadline(consumer.end_offsets(sorted(consumer.assignment())), "look up the log's end")
        await self._reached(ends)

    async def reached(self, partition: int, offset: int) -> None:
        """Wait until the record at this offset is handed on."""
        await self._reached({TopicPartition(self._topic, partition): offset + 1})

    async def _reached(self, ends: dict[TopicPartition, int]) -> None:
        def there() -> bool:
            return all(self._read.get(place, end) >= end for place, end in ends.items())

        try:
            async with asyncio.timeout(CAUGHT_UP_S), self._waited_for(), self._came:
                await self._came.wait_for(there)
        except TimeoutError as late:
            raise Unavailable(f"Kafka: the reader of {self._topic} does not come to its end") from late

    @asynccontextmanager
    async def _waited_for(self) -> AsyncIterator[None]:
        """Keep the reading from a rest inside the block, as somebody waits."""
        self._waiting += 1
        self._wanted.set()
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._wanted.clear()

    def _reader(self) -> AIOKafkaConsumer:
        return make_reader(self._kafka, self._topic, wait_ms=FETCH_WAIT_MS)

    def _started(self) -> AIOKafkaConsumer:
        if self._consumer is None:
            raise RuntimeError("a RequestLog reads once it is started")
        return self._consumer
