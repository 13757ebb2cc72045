"""The pipeline benchmark's use of Kafka: topics, the load, and the progress of a consumer group."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import TopicAlreadyExistsError

from tokenmill.bench.load import PARTITIONS, Load, Record
from tokenmill.errors import FatalError, Unavailable
from tokenmill.kafka.aiokafka_inside import give_plain_records
from tokenmill.kafka.calls import NO_COORDINATOR
from tokenmill.kafka.clients import Admin
from tokenmill.servers.process import Server

BATCH_BYTES = 256 * 1024

POLL_MS = 200

LOOK_S = 0.05
"""Seconds between two looks at the committed offsets: small against a run of seconds."""

IN_FLIGHT = 64
"""Batches sent before the benchmark waits for the oldest acknowledgement."""


@asynccontextmanager
async def created(
    bootstrap: str, topics: Sequence[str], partitions: int = PARTITIONS
) -> AsyncIterator[AIOKafkaAdminClient]:
    """Create topics for the block and remove them after it, so that a shared Kafka keeps nothing of them."""
    async with Admin({"bootstrap_servers": bootstrap}) as admin:
        await create_topics(admin, topics, partitions)
        try:
            yield admin
        finally:
            await admin.delete_topics(list(topics))


async def create_topics(admin: AIOKafkaAdminClient, names: Sequence[str], partitions: int = PARTITIONS) -> None:
    """Create topics."""
    answer = await admin.create_topics([NewTopic(name, partitions, 1) for name in names])
    for name, code, *message in answer.topic_errors:
        if code not in {0, TopicAlreadyExistsError.errno}:
            raise Unavailable(f"creating the topic {name!r}: error {code} {message}")


async def preload(bootstrap: str, topic: str, load: Load) -> None:
    """Put the whole load on the topic, in record batches."""
    sent: list[asyncio.Future[Any]] = []
    async with AIOKafkaProducer(
        bootstrap_servers=bootstrap, enable_idempotence=True, max_batch_size=BATCH_BYTES
    ) as producer:
        for partition, batch in filled(producer, load, partitions=load.partitions):
            sent.append(await producer.send_batch(batch, topic, partition=partition))
            if len(sent) >= IN_FLIGHT:
                await sent.pop(0)
        await asyncio.gather(*sent)


def filled(
    producer: AIOKafkaProducer,
    records: Iterable[Record],
    timestamp_ms: int | None = None,
    partitions: int = PARTITIONS,
) -> Iterator[tuple[int, Any]]:
    """Yield record batches with their partitions: each as soon as it is full, and at the end the rest."""
    batches = [producer.create_batch() for _ in range(partitions)]
    for partition, key, value in records:
        if batches[partition].append(key=key, value=value, timestamp=timestamp_ms) is None:
            yield partition, batches[partition]
            batches[partition] = producer.create_batch()
            batches[partition].append(key=key, value=value, timestamp=timestamp_ms)
    yield from ((partition, batch) for partition, batch in enumerate(batches) if batch.record_count())


async def ends(bootstrap: str, topics: Sequence[str]) -> dict[TopicPartition, int]:
    """Return the end offsets of the partitions of some topics."""
    async with _reader(bootstrap) as consumer:
        partitions = [TopicPartition(topic, number) for topic in topics for number in range(PARTITIONS)]
        return dict(await consumer.end_offsets(partitions))


async def written(bootstrap: str, since: Mapping[TopicPartition, int]) -> int:
    """Count the records written after these offsets that readers of committed records see.

    It reads them: offsets also count the ends of transactions, and aborted records.
    """
    async with _reader(bootstrap) as consumer:
        consumer.assign(list(since))
        for partition, offset in since.items():
            consumer.seek(partition, offset)
        records, ends = 0, await consumer.end_offsets(list(since))
        while any([await consumer.position(partition) < end for partition, end in ends.items()]):
            give_plain_records(consumer)
            records += sum(map(len, (await consumer.getmany(timeout_ms=POLL_MS)).values()))
        return records


def _reader(bootstrap: str) -> AIOKafkaConsumer:
    """Return a reader of committed records; its end offset is that of the last transaction that is over."""
    return AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level="read_committed")


async def committed(admin: AIOKafkaAdminClient, group: str, topic: str, partitions: int = PARTITIONS) -> int:
    """Return how many records of a topic a group has committed; 0 if none yet."""
    places = [TopicPartition(topic, number) for number in range(partitions)]
    try:
        offsets = await admin.list_consumer_group_offsets(group, partitions=places)
    except NO_COORDINATOR:
        return 0
    return sum(max(0, offset.offset) for offset in offsets.values())


class Watch(NamedTuple):
    """A group that works on a topic, and one of its processes, watched from outside."""

    admin: AIOKafkaAdminClient
    group: str
    topic: str
    process: Server
    partitions: int = PARTITIONS

    async def reached(self, records: int) -> int:
        """Wait until `records` are committed; return how many are. Raises `FatalError` if the process ends earlier."""
        while (done := await committed(self.admin, self.group, self.topic, self.partitions)) < records:
            if not self.process.alive:
                raise FatalError(f"{self.process.name} ended by itself: {self.process.log_end()}")
            await asyncio.sleep(LOOK_S)
        return done
