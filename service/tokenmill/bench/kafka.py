"""What the pipeline benchmark asks of Kafka: topics, the load, and how far a consumer group has come."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import (
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    NotCoordinatorForGroupError,
    TopicAlreadyExistsError,
)

from tokenmill.bench.load import PARTITIONS, Load
from tokenmill.errors import Unavailable
from tokenmill.kafka import deadline
from tokenmill.worker.fetched import unwrap_fetched

BATCH_BYTES = 256 * 1024

POLL_MS = 200

IN_FLIGHT = 64
"""Batches sent before the oldest acknowledgement is waited for."""


@asynccontextmanager
async def created(bootstrap: str, topics: Sequence[str]) -> AsyncIterator[AIOKafkaAdminClient]:
    """Some topics, from their making to their removal: a Kafka that is used for other things keeps nothing of them."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        await deadline(admin.start(), f"connect to {bootstrap}")
        await create_topics(admin, topics)
        try:
            yield admin
        finally:
            await admin.delete_topics(list(topics))
    finally:
        await admin.close()


async def create_topics(admin: AIOKafkaAdminClient, names: Sequence[str]) -> None:
    """Create topics that are not there."""
    answer = await admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names])
    for name, code, *message in answer.topic_errors:
        if code not in {0, TopicAlreadyExistsError.errno}:
            raise Unavailable(f"creating the topic {name!r}: error {code} {message}")


async def preload(bootstrap: str, topic: str, load: Load) -> None:
    """Put the whole load on the topic, in record batches."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, max_batch_size=BATCH_BYTES)
    await producer.start()
    try:
        batches = [producer.create_batch() for _ in range(PARTITIONS)]
        sent: list[asyncio.Future[Any]] = []
        for partition, key, value in load:
            if batches[partition].append(key=key, value=value, timestamp=None) is None:
                sent.append(await producer.send_batch(batches[partition], topic, partition=partition))
                batches[partition] = producer.create_batch()
                batches[partition].append(key=key, value=value, timestamp=None)
            if len(sent) >= IN_FLIGHT:
                await sent.pop(0)
        sent += [await producer.send_batch(batch, topic, partition=number) for number, batch in enumerate(batches)]
        await asyncio.gather(*sent)
    finally:
        await producer.stop()


async def ends(bootstrap: str, topics: Sequence[str]) -> dict[TopicPartition, int]:
    """Where the partitions of some topics end."""
    async with _reader(bootstrap) as consumer:
        partitions = [TopicPartition(topic, number) for topic in topics for number in range(PARTITIONS)]
        return dict(await consumer.end_offsets(partitions))


async def written(bootstrap: str, since: Mapping[TopicPartition, int]) -> int:
    """Records that were written after these offsets, and that readers of what is committed see.

    They are read: offsets also count the ends of transactions, and what was aborted.
    """
    async with _reader(bootstrap) as consumer:
        consumer.assign(list(since))
        for partition, offset in since.items():
            consumer.seek(partition, offset)
        records, ends = 0, await consumer.end_offsets(list(since))
        while any([await consumer.position(partition) < end for partition, end in ends.items()]):
            unwrap_fetched(consumer)
            records += sum(map(len, (await consumer.getmany(timeout_ms=POLL_MS)).values()))
        return records


@asynccontextmanager
async def _reader(bootstrap: str) -> AsyncIterator[AIOKafkaConsumer]:
    """Of what is committed; what it asks for as an end is that of the last transaction that is over."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level="read_committed")
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


async def committed(admin: AIOKafkaAdminClient, group: str, topic: str) -> int:
    """Records of a topic that a group has committed; 0 if it has not yet."""
    partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    try:
        offsets = await admin.list_consumer_group_offsets(group, partitions=partitions)
    except (GroupCoordinatorNotAvailableError, NotCoordinatorForGroupError, GroupLoadInProgressError):
        return 0  # a broker that has just started makes its own topics first
    return sum(max(0, offset.offset) for offset in offsets.values())
