"""Make topics, fill them and read them back, with plain clients."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tokenmill.config import Config, ExtraOutput, Kafka, Topics
from tokenmill.kafka.topics import settings_of, until_controlled

PARTITIONS = 4

NAMES = "tokens", "events", "tool_calls", "tool_results", "tool_state", "tool_control", "requests", "dlq"

KNOWN_S = 30
LOOK_S = 0.02


@asynccontextmanager
async def admin_of(bootstrap: str, patience_ms: int = 40_000) -> AsyncIterator[AIOKafkaAdminClient]:
    """A client for what operators do, with so much patience for a broker that does not answer.

    It waits for the controller, which a broker that has just started or was frozen does not know yet.
    """
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=patience_ms)
    await admin.start()
    try:
        await until_controlled(admin)
        yield admin
    finally:
        await admin.close()


async def make_topics(
    bootstrap: str, *names: str, partitions: int = PARTITIONS, copies: int = 1, **configs: str
) -> None:
    """Create topics and wait until they can be used; `configs` are those of each, with `_` for `.`."""
    settings = {key.replace("_", "."): value for key, value in configs.items()}
    async with admin_of(bootstrap) as admin:
        await admin.create_topics([NewTopic(name, partitions, copies, topic_configs=settings) for name in names])
        await known(admin, names)


async def grow_topics(bootstrap: str, *names: str, partitions: int) -> None:
    """Add partitions, and wait until they can be used."""
    async with admin_of(bootstrap) as admin:
        await admin.create_partitions({name: NewPartitions(total_count=partitions) for name in names})
        async with asyncio.timeout(KNOWN_S):
            while any(len(topic["partitions"]) < partitions for topic in await admin.describe_topics(list(names))):  # noqa: ASYNC110 -- the broker tells nobody
                await asyncio.sleep(LOOK_S)
        await known(admin, names)


async def alter_topic(bootstrap: str, topic: str, settings: Mapping[str, str]) -> None:
    """Alter settings of a topic, and wait until the broker reports them: it does so some time after it has answered."""
    async with admin_of(bootstrap) as admin, asyncio.timeout(KNOWN_S):
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, dict(settings))])
        while (await settings_of(admin, {topic: settings}))[topic] != settings:  # noqa: ASYNC110 -- the broker tells nobody
            await asyncio.sleep(LOOK_S)


async def make_anew(bootstrap: str, name: str, partitions: int) -> None:
    """Delete a topic and make another one of the same name, as fast as the broker lets one."""
    async with admin_of(bootstrap) as admin:
        await admin.delete_topics([name])
        async with asyncio.timeout(KNOWN_S):
            while True:
                answer = await admin.create_topics([NewTopic(name, partitions, 1)])
                if not any(code for _, code, *_ in answer.topic_errors):
                    break
                await asyncio.sleep(LOOK_S)
        await known(admin, [name])


async def known(admin: AIOKafkaAdminClient, names: Collection[str]) -> None:
    """Wait until the broker, too, has heard of new topics from its controller."""
    async with asyncio.timeout(KNOWN_S):
        while any(map(_wrong, await admin.describe_topics(list(names)))):  # noqa: ASYNC110 -- the broker tells nobody
            await asyncio.sleep(LOOK_S)


def _wrong(topic: dict[str, Any]) -> bool:
    """Whether the topic, or a partition of it, is not there yet."""
    return any(part["error_code"] for part in (topic, *topic["partitions"]))


async def write_topic(
    bootstrap: str,
    topic: str,
    records: Iterable[tuple[bytes, bytes | None, list[tuple[str, bytes]]]],
    partition: int | None = None,
) -> None:
    """Key, value and headers of each record, in order."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    try:
        for key, value, headers in records:
            await producer.send_and_wait(topic, value, key=key, headers=headers, partition=partition)
    finally:
        await producer.stop()


async def read_topic(bootstrap: str, topic: str, isolation: str = "read_committed") -> list[ConsumerRecord]:
    """Everything on a topic that is committed, or everything (`read_uncommitted`), partition by partition."""
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", isolation_level=isolation
    )
    await consumer.start()
    try:
        records: list[ConsumerRecord] = []
        ends = await consumer.end_offsets(consumer.assignment())
        for partition, end in sorted(ends.items()):
            await _read(consumer, partition, end, records)
        return records
    finally:
        await consumer.stop()


async def read_partition(bootstrap: str, topic: str, number: int) -> list[ConsumerRecord]:
    """Everything on one partition that is committed."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level="read_committed")
    place = TopicPartition(topic, number)
    consumer.assign([place])
    await consumer.start()
    try:
        records: list[ConsumerRecord] = []
        await consumer.seek_to_beginning(place)
        await _read(consumer, place, (await consumer.end_offsets([place]))[place], records)
        return records
    finally:
        await consumer.stop()


async def _read(consumer: AIOKafkaConsumer, partition: TopicPartition, end: int, records: list[ConsumerRecord]) -> None:
    while await consumer.position(partition) < end:
        records += (await consumer.getmany(partition, timeout_ms=1_000)).get(partition, [])


def unmade(bootstrap: str, unique: str) -> Config:
    """A configuration whose topics do not exist yet."""
    outputs = [
        ExtraOutput(topic=f"extra-{unique}"),
        ExtraOutput(topic=f"live-{unique}", dialect="agent"),
        ExtraOutput(topic=f"brief-{unique}", retention_s=60),
    ]
    topics = Topics(**{name: f"{name}-{unique}" for name in NAMES})
    return Config(kafka=Kafka(bootstrap_servers=bootstrap), topics=topics, outputs=outputs)
