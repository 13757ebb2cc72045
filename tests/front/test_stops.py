"""Answers that are stopped from a front."""

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer

from tests.support.topics import make_topics
from tokenmill.codecs import Chunk
from tokenmill.config import Kafka
from tokenmill.front.stops import Stops
from tokenmill.gateway.ingest.producer import Producer

pytestmark = pytest.mark.integration


async def test_an_answer_is_stopped_by_a_record_of_its_conversation(kafka: str, unique: str) -> None:
    """A chunk of no text, which every worker reads whatever its codec is."""
    await make_topics(kafka, topic := f"tokens-{unique}", partitions=1)
    producer = Producer(Kafka(bootstrap_servers=kafka), [topic])
    await producer.start()
    try:
        await Stops(producer, topic).stop("chat 7/é", "m")
    finally:
        await producer.stop()
    async with AIOKafkaConsumer(topic, bootstrap_servers=kafka, auto_offset_reset="earliest") as consumer:
        record = await consumer.getone()
    assert record.key == "chat 7/é".encode()
    assert msgspec.json.decode(record.value, type=Chunk) == Chunk(message_id="m", control="cancel")
    assert dict(record.headers) == {"tm-codec": b"native"}
