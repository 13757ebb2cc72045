"""What the benchmarks ask of Kafka."""

from functools import partial

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from tests.support.stage import until
from tests.support.topics import admin_of, read_topic
from tokenmill.bench.kafka import committed, create_topics, created, ends, preload, written
from tokenmill.bench.load import Load

pytestmark = pytest.mark.integration


async def test_the_load_is_put_on_its_topic_and_progress_is_seen(kafka: str, unique: str) -> None:
    """All of it, each record on the partition that the load says; a topic can be made twice."""
    topic, load = f"bench-{unique}", Load(5_000)
    async with created(kafka, [topic]) as admin:
        await create_topics(admin, [topic])
        start = await ends(kafka, [topic])
        assert set(start.values()) == {0}
        await preload(kafka, topic, load)
        assert await written(kafka, start) == load.records
        assert await written(kafka, await ends(kafka, [topic])) == 0
        read = await read_topic(kafka, topic)
        assert sorted((r.partition, r.key, r.value) for r in read) == sorted(load)

        assert await committed(admin, f"g-{unique}", topic) == 0
        await _commit(kafka, f"g-{unique}", topic, {0: 100, 3: 20})
        assert await committed(admin, f"g-{unique}", topic) == 120
    async with admin_of(kafka) as admin:
        await until(partial(_is_gone, admin, topic), "the topic is deleted")


async def test_only_what_is_committed_counts_as_written(kafka: str, unique: str) -> None:
    """Not the ends of transactions, which have offsets of their own, and not what was aborted."""
    topic = f"bench-{unique}"
    producer = AIOKafkaProducer(bootstrap_servers=kafka, transactional_id=f"t-{unique}")
    async with created(kafka, [topic]):
        start = await ends(kafka, [topic])
        await producer.start()
        try:
            for count in (3, 2):
                async with producer.transaction():
                    for number in range(count):
                        await producer.send(topic, b"%d" % number, partition=0)
            await producer.begin_transaction()
            await producer.send_and_wait(topic, b"aborted", partition=0)
            await producer.abort_transaction()
        finally:
            await producer.stop()
        assert sum((await ends(kafka, [topic])).values()) > 5
        assert await written(kafka, start) == 5


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
