"""The topic `tool-control` as a runner reads it: all of it, whoever has which partition. A word is rare and short.

It begins as far back as any call could still be asked about or run, so that a word that came before its call, or before
this process, counts.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TypeAlias

from aiokafka import AIOKafkaConsumer, TopicPartition

from tokenmill.config import Kafka
from tokenmill.kafka.calls import deadline, started, stopped
from tokenmill.kafka.clients import make_reader
from tokenmill.kafka.lookup import offsets_since
from tokenmill.kafka.topics import find_topic
from tokenmill.tools.control import Control, read_control

POLL_MS = 200


Take: TypeAlias = Callable[[Control, int], None]
"""Gets a record, and its time in milliseconds since the epoch."""


class ControlLog:
    """Hands on what comes, and tells of it when it has."""

    def __init__(
        self, kafka: Kafka, topic: str, back_s: float, take: Take, tell: Callable[[], None] = lambda: None
    ) -> None:
        self._kafka = kafka
        self._topic = topic
        self._back_ms = int(back_s * 1000)
        self._take = take
        self._tell = tell
        self.read = asyncio.Event()
        """Everything is known that was said before the start."""

    async def run(self) -> None:
        """Until cancelled. Raises `Unavailable` if Kafka does not answer, or the topic is not there."""
        await find_topic(self._kafka, self._topic)
        consumer = await started(self._reader, "read tool-control", self._kafka.startup_timeout_s)
        try:
            ends = await self._begin(consumer)
            while True:
                for records in (await consumer.getmany(timeout_ms=POLL_MS)).values():
                    for record in records:
                        if (control := read_control(record.value)) is not None:
                            self._take(control, record.timestamp)
                    self._tell()
                if not self.read.is_set():
                    positions = {place: await deadline(consumer.position(place), "read tool-control") for place in ends}
                    if all(positions[place] >= end for place, end in ends.items()):
                        self.read.set()
        finally:
            await stopped(consumer)

    async def _begin(self, consumer: AIOKafkaConsumer) -> dict[TopicPartition, int]:
        """Seek to where it has to be read from; returns the ends that the partitions have now."""
        places = sorted(consumer.assignment())
        since = int(time.time() * 1000) - self._back_ms
        for place, offset in (await offsets_since(consumer, places, since)).items():
            consumer.seek(place, offset)
        ends: dict[TopicPartition, int] = await deadline(consumer.end_offsets(places), "look up the log's end")
        return ends

    def _reader(self) -> AIOKafkaConsumer:
        return make_reader(self._kafka, self._topic)
