"""A reader of events that is there while everything happens."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from aiokafka import AIOKafkaConsumer, ConsumerRecord

from tests.support.stage import Stage

POLL_MS = 200


class Place(NamedTuple):
    """Of a record, and what it holds."""

    partition: int
    offset: int
    value: bytes | None


def place(record: ConsumerRecord) -> Place:
    """Of a record that was read in another way."""
    return Place(record.partition, record.offset, record.value)


class Reader:
    """What was seen so far, in the order in which it came."""

    def __init__(self, consumer: AIOKafkaConsumer) -> None:
        self._consumer = consumer
        self.seen: list[Place] = []

    async def read(self) -> None:
        """Read on, for ever."""
        while True:
            for records in (await self._consumer.getmany(timeout_ms=POLL_MS)).values():
                self.seen.extend(map(place, records))

    async def positions(self) -> dict[int, int]:
        """How far it came on each partition, behind the ends of transactions, too."""
        return {tp.partition: await self._consumer.position(tp) for tp in self._consumer.assignment()}


@asynccontextmanager
async def reading(stage: Stage, isolation: str = "read_committed") -> AsyncIterator[Reader]:
    """A reader of the stage's events, from their beginning on, of what is committed or of everything."""
    consumer = AIOKafkaConsumer(
        stage.topics.events,
        bootstrap_servers=stage.bootstrap,
        auto_offset_reset="earliest",
        isolation_level=isolation,
    )
    reader = Reader(consumer)
    await consumer.start()
    task = asyncio.create_task(reader.read())
    try:
        yield reader
    finally:
        task.cancel()
        await consumer.stop()
