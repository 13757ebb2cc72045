"""All of a topic, read without a group: from some time back, and partitions that are added from their beginnings.

A consumer that subscribes will not do: it looks for new partitions after minutes, and starts all of them over when
their number changes, or when one answer about the topic lacks some.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from tokenmill.config import Kafka
from tokenmill.errors import Unavailable
from tokenmill.kafka.aiokafka_inside import network, positions
from tokenmill.kafka.calls import deadline, started, stopped, stopped_on_failure
from tokenmill.kafka.client_tasks import must_read
from tokenmill.kafka.clients import READER_WAIT_MS, make_reader
from tokenmill.kafka.lookup import assign_at, offsets_since
from tokenmill.kafka.topics import FewerPartitions, find_topic

POLL_MS = 200

GROWTH_S = 10.0
"""Seconds between two looks for new partitions, when nobody asks for one."""

KNOWN_S = 1.0
"""Seconds for which `ends` reuses the last lookup of partitions, which waits behind the fetch in flight."""


class WholeTopic:
    """Passes on every record. Raises `Unavailable` when Kafka does not answer, or the topic is another one.

    Raises `FatalError` when a background task of its consumer has ended.

    `wait_ms` is how long a fetch of nothing takes: see `make_reader`.
    """

    def __init__(
        self,
        kafka: Kafka,
        topic: str,
        back_s: float,
        take: Callable[[ConsumerRecord], Any],
        wait_ms: int = READER_WAIT_MS,
    ) -> None:
        self._kafka = kafka
        self._topic = topic
        self._back_ms = int(back_s * 1000)
        self._take = take
        self._wait_ms = wait_ms
        self._consumer: AIOKafkaConsumer | None = None
        self._read: dict[TopicPartition, int] = {}
        """The offset after what was passed on, by partition."""
        self._grown = False
        """Whether some of these are not assigned yet. `poll` does that: only there is nothing on its way."""
        self._looked = 0.0
        self._known_until = 0.0
        self._fewer = FewerPartitions(topic)

    async def start(self) -> None:
        """Connect, and find where to begin."""
        await find_topic(self._kafka, self._topic)
        consumer = await started(self._reader, self._doing, self._kafka.startup_timeout_s)
        self._consumer = consumer
        since = int(time.time() * 1000) - self._back_ms
        async with stopped_on_failure(consumer):
            await deadline(network(consumer).add_topic(self._topic), self._doing)
            places = await self._places()
            if not places:
                raise Unavailable(f"Kafka: the broker does not know the topic {self._topic} yet")
            self._read = await offsets_since(consumer, places, since)
        assign_at(consumer, self._read)
        self._looked = time.monotonic()

    async def stop(self) -> None:
        """Disconnect."""
        if self._consumer is not None:
            await stopped(self._consumer)

    async def poll(self) -> bool:
        """Pass on what comes within a moment. Return whether the reader got further."""
        consumer = self._started()
        must_read(consumer)
        await self._tend()
        if self._grown:
            self._grown = False
            assign_at(consumer, self._read)
        batches = await deadline(consumer.getmany(timeout_ms=POLL_MS), self._doing)
        for records in batches.values():
            for record in records:
                self._take(record)
        # Not after the last record: the end of a transaction may be there, and nothing else comes.
        further = {place: at for place, at in positions(consumer).items() if at not in (None, self._read[place])}
        self._read |= further
        return bool(further)

    async def ends(self) -> dict[TopicPartition, int]:
        """Return up to where the topic can be read now, for all partitions that it had a moment ago."""
        if time.monotonic() >= self._known_until:
            await self.look()
        ends: dict[TopicPartition, int] = await deadline(
            self._started().end_offsets(sorted(self._read)), "look up the log's end"
        )
        return ends

    def has_read(self, ends: Mapping[TopicPartition, int]) -> bool:
        """Whether everything before these offsets was passed on."""
        return all(self._read.get(place, -1) >= end for place, end in ends.items())

    def reads(self, place: TopicPartition) -> bool:
        """Whether it reads the partition."""
        return place in self._read

    async def look(self) -> int:
        """Read partitions that were added, too. Return how many there are, as a broker reports now."""
        places = await self._places()
        self._known_until = time.monotonic() + KNOWN_S
        new = [place for place in places if place not in self._read]
        if new:
            self._read |= dict.fromkeys(new, 0)
            self._grown = True
        return len(places)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Fetch nothing inside the block but what was asked for before."""
        consumer = self._started()
        places = consumer.assignment()
        consumer.pause(*places)
        try:
            yield
        finally:
            consumer.resume(*places)

    async def _tend(self) -> None:
        if time.monotonic() < self._looked + GROWTH_S:
            return
        self._looked = time.monotonic()
        try:
            count = await self.look()
        except Unavailable:
            return  # readers wait for Kafka as long as it takes
        self._fewer.look(count, len(self._read))

    async def _places(self) -> list[TopicPartition]:
        """Return the topic's partitions, as a broker reports now."""
        client, what = network(self._started()), f"look up the partitions of {self._topic}"
        if not await deadline(client.force_metadata_update(), what):
            raise Unavailable(f"Kafka: {what}: no broker answers")
        numbers = client.cluster.partitions_for_topic(self._topic) or ()
        return [TopicPartition(self._topic, number) for number in sorted(numbers)]

    @property
    def _doing(self) -> str:
        return f"read {self._topic}"

    def _reader(self) -> AIOKafkaConsumer:
        return make_reader(self._kafka, wait_ms=self._wait_ms)

    def _started(self) -> AIOKafkaConsumer:
        if self._consumer is None:
            raise RuntimeError("a WholeTopic reads once it is started")
        return self._consumer
