"""What the pipeline benchmark asks of Kafka."""

from functools import partial

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from tests.support.stage import until
from tests.support.topics import read_topic
from tokenmill.bench.kafka import committed, create_topics, delete_topics, preload, written
from tokenmill.bench.load import Load

pytestmark = pytest.mark.integration


async def test_the_load_is_put_on_its_topic_and_progress_is_seen(kafka: str, unique: str) -> None:
    """All of it, each record on the partition that the load says; a topic can be made twice."""
    topic, load = f"bench-{unique}", Load(5_000)
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    try:
        await create_topics(admin, [topic])
        await create_topics(admin, [topic])
        assert await written(kafka, [topic]) == 0
        await preload(kafka, topic, load)
        assert await written(kafka, [topic]) == load.records
        read = await read_topic(kafka, topic)
        assert sorted((r.partition, r.key, r.value) for r in read) == sorted(load)

        assert await committed(admin, f"g-{unique}", topic) == 0
        await _commit(kafka, f"g-{unique}", topic, {0: 100, 3: 20})
        assert await committed(admin, f"g-{unique}", topic) == 120

        await delete_topics(admin, [topic])
        await until(partial(_is_gone, admin, topic), "the topic is deleted")
    finally:
        await admin.close()


async def _is_gone(admin: AIOKafkaAdminClient, topic: str) -> bool:
    return topic not in await admin.list_topics()


async def _commit(bootstrap: str, group: str, topic: str, offsets: dict[int, int]) -> None:
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
    await consumer.start()
    try:
        consumer.assign([TopicPartition(topic, partition) for partition in offsets])
        await consumer.commit({TopicPartition(topic, number): offset for number, offset in offsets.items()})
    finally:
        await consumer.stop()
