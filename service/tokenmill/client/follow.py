"""Follows a topic of outputs, and drops repeats."""

import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from types import TracebackType
from typing import Self

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from tokenmill.client.connection import Connection
from tokenmill.client.repeats import Repeats
from tokenmill.errors import Unavailable
from tokenmill.events import AnyEvent, known_event
from tokenmill.kafka.aiokafka_inside import fresh_metadata
from tokenmill.kafka.calls import deadline, started, stopped, stopped_on_failure
from tokenmill.kafka.client_tasks import must_read
from tokenmill.kafka.lookup import assign_at
from tokenmill.kafka.to_end import ToEnd

POLL_MS = 200
"""Milliseconds for which one poll waits for records. Events are not delayed by it; checks between polls are."""

START_DEADLINE_S = 30.0
"""Seconds for connecting, and for looking up the topic."""

GROWTH_S = 10.0
"""Seconds between two looks for new partitions."""


class Follower:
    """Reads all partitions of a topic, also new ones, without a consumer group, so that it affects no other reader.

        async with Follower(Connection("localhost:9092"), conversation_id="conversation-7") as follower:
            async for event in follower.events():
                print(event)

    Args:
        connection: how to reach Kafka.
        topic: the topic to read.
        conversation_id: deliver only records of this conversation; None: of all.
        from_beginning: start with the oldest record that the topic holds, instead of the next new one.
        until_end: stop at the end that the topic had when the block was entered.
        repeats: drops repeated records; None: they are delivered again.
        fetch_wait_ms: milliseconds for which the broker may hold back the answer to a fetch that finds nothing new.
            Kafka answers as soon as a record comes; other brokers may always take the whole time.

    Raises `Unavailable` if Kafka does not answer or the topic does not exist. Once the block is entered, it waits for a
    Kafka that is away; with `until_end` it raises.
    """

    def __init__(
        self,
        connection: Connection | None = None,
        *,
        topic: str = "events",
        conversation_id: str | None = None,
        from_beginning: bool = False,
        until_end: bool = False,
        repeats: Repeats | None = None,
        fetch_wait_ms: int = 500,
    ) -> None:
        self.connection = connection or Connection()
        self.topic = topic
        self._key = conversation_id.encode() if conversation_id is not None else None
        self._from_beginning = from_beginning
        self._until_end = until_end
        self._repeats = repeats
        self._fetch_wait_ms = fetch_wait_ms
        self._ends: dict[TopicPartition, int] = {}
        self._places: dict[TopicPartition, int] = {}
        self._passed = self._offsets = 0
        self._left: deque[tuple[TopicPartition, ConsumerRecord]] = deque()
        """Records that were fetched and not yet delivered: a reader may stop reading and start again."""
        self._consumer: AIOKafkaConsumer | None = None

    async def __aenter__(self) -> Self:
        consumer = await started(self._client, self.connection.connecting, START_DEADLINE_S)
        async with stopped_on_failure(consumer):
            await deadline(self._place(consumer), f"look up the partitions of {self.topic!r}", START_DEADLINE_S)
        self._consumer = consumer
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._consumer is not None:
            await stopped(self._consumer)

    async def records(self) -> AsyncGenerator[ConsumerRecord]:
        """Yield records as they come, each partition in order; this ends only with `until_end`. Raises `Unavailable`.

        If you leave the loop and call this again, it continues with the next record.
        """
        consumer, looked = self._started(), time.monotonic()
        end = ToEnd(consumer, self._ends, f"read {self.topic!r}")
        while True:
            while self._left:
                partition, record = self._left.popleft()
                if self._wanted(partition, record):
                    yield record
            if self._until_end and await end.reached():
                return
            if not self._until_end and time.monotonic() > looked + GROWTH_S:
                await self._grow(consumer)
                looked = time.monotonic()
            batches = await deadline(consumer.getmany(timeout_ms=POLL_MS), f"read {self.topic!r}")
            for partition, batch in batches.items():
                self._pass(partition, batch[-1].offset + 1)
                self._left += [(partition, record) for record in batch]

    async def events(self) -> AsyncGenerator[AnyEvent]:
        """Yield the events in the records, as `records` does. It skips records of another dialect, and tombstones."""
        async with aclosing(self.records()) as records:
            async for record in records:
                if (event := known_event(record.value or b"")) is not None:
                    yield event

    @property
    def how_far(self) -> tuple[int, int]:
        """The number of offsets that were read, and the number up to the end when the block was entered."""
        return min(self._passed, self._offsets), self._offsets

    def _client(self) -> AIOKafkaConsumer:
        # A reader of exactly-once output must not see aborted transactions; other topics have none.
        # A reader whose offset the log no longer holds continues with the first record that the log holds.
        return AIOKafkaConsumer(
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            **self.connection.consuming(fetch_max_wait_ms=self._fetch_wait_ms),
        )

    async def _place(self, consumer: AIOKafkaConsumer) -> None:
        known = await fresh_metadata(consumer, self.topic)
        numbers = known.partitions_for_topic(self.topic)
        if not numbers:
            raise Unavailable(f"the topic {self.topic!r} does not exist; create it with `tokenmill topics create`")
        partitions = [TopicPartition(self.topic, number) for number in sorted(numbers)]
        consumer.assign(partitions)
        self._ends = await consumer.end_offsets(partitions)
        starts = await consumer.beginning_offsets(partitions) if self._from_beginning else self._ends
        for partition, offset in starts.items():
            consumer.seek(partition, offset)
        self._places = dict(starts)
        self._passed, self._offsets = 0, sum(self._ends.values()) - sum(starts.values())

    async def _grow(self, consumer: AIOKafkaConsumer) -> None:
        """Read new partitions, too, from their beginnings; the others continue where they are."""
        must_read(consumer, Unavailable)
        try:
            known = await deadline(fresh_metadata(consumer, self.topic), f"look up the partitions of {self.topic!r}")
        except Unavailable:
            return  # a follower waits for Kafka for as long as that takes
        numbers = known.partitions_for_topic(self.topic) or ()
        partitions = (TopicPartition(self.topic, number) for number in sorted(numbers))
        new = [partition for partition in partitions if partition not in self._places]
        if new:
            self._places |= dict.fromkeys(new, 0)
            assign_at(consumer, self._places)

    def _pass(self, partition: TopicPartition, place: int) -> None:
        self._passed += place - self._places[partition]
        self._places[partition] = place

    def _wanted(self, partition: TopicPartition, record: ConsumerRecord) -> bool:
        if self._until_end and record.offset >= self._ends[partition]:
            return False
        if self._key is not None and record.key != self._key:
            return False
        return self._repeats is None or self._repeats.fresh(record.key, record.headers)

    def _started(self) -> AIOKafkaConsumer:
        if self._consumer is None:
            raise RuntimeError("a Follower can read only inside its `async with` block")
        return self._consumer
