"""A reader of all of a topic: where it begins, and what it makes of partitions that come and go."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest
from aiokafka import AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.protocol.metadata import MetadataResponse_v0

from tests.support.topics import grow_topics, make_anew, make_topics
from tokenmill.config import Kafka
from tokenmill.errors import FatalError, Unavailable
from tokenmill.kafka import whole_topic as module
from tokenmill.kafka.aiokafka_inside import network
from tokenmill.kafka.whole_topic import WholeTopic

pytestmark = pytest.mark.integration

UNKNOWN = 3
"""What brokers answer about a topic that they do not know."""


class Reading:
    """A reader that is polled, and what it passed on."""

    def __init__(self, kafka: str, topic: str) -> None:
        self.values: list[bytes] = []
        self.reader = WholeTopic(Kafka(bootstrap_servers=kafka), topic, 600, self._take)

    def _take(self, record: ConsumerRecord) -> None:
        self.values.append(record.value)

    async def to_the_end(self) -> list[bytes]:
        """Return all that was passed on, once there is nothing else."""
        ends = await self.reader.ends()
        await self.up_to(ends)
        return self.values

    async def up_to(self, ends: Mapping[TopicPartition, int]) -> None:
        """Poll until everything before these offsets was passed on."""
        async with asyncio.timeout(30):
            while not self.reader.has_read(ends):
                await self.reader.poll()


@asynccontextmanager
async def reading_of(kafka: str, topic: str) -> AsyncIterator[Reading]:
    """A reader that has begun."""
    reading = Reading(kafka, topic)
    await reading.reader.start()
    try:
        yield reading
    finally:
        await reading.reader.stop()


@pytest.fixture
async def producer(kafka: str) -> AsyncIterator[AIOKafkaProducer]:
    async with AIOKafkaProducer(bootstrap_servers=kafka) as made:
        yield made


@pytest.fixture
async def topic(kafka: str, unique: str, producer: AIOKafkaProducer) -> str:
    """With what is too old, and what is not, on each of two partitions."""
    await make_topics(kafka, name := f"whole-{unique}", partitions=2)
    for partition in (0, 1):
        await producer.send_and_wait(name, b"old", partition=partition, timestamp_ms=1)
        await producer.send_and_wait(name, b"%d" % partition, partition=partition)
    return name


async def test_what_does_not_start_is_stopped(kafka: str, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has connected, and then where to begin is not answered."""

    async def unanswered(*_: object) -> None:
        raise Unavailable("look up an offset by time")

    monkeypatch.setattr(module, "offsets_since", unanswered)
    reading = Reading(kafka, topic)
    with pytest.raises(Unavailable):
        await reading.reader.start()
    assert reading.reader._started()._closed


async def test_partitions_that_are_added_are_read_from_their_beginnings(
    kafka: str, topic: str, producer: AIOKafkaProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However old their records are, as nobody has read them; nothing of the others comes again."""
    monkeypatch.setattr(module, "GROWTH_S", 0.1)
    async with reading_of(kafka, topic) as reading:
        assert sorted(await reading.to_the_end()) == [b"0", b"1"]
        await grow_topics(kafka, topic, partitions=3)
        await producer.client.force_metadata_update()
        await producer.send_and_wait(topic, b"2", partition=2, timestamp_ms=1)
        await reading.up_to({TopicPartition(topic, 2): 1})
        await producer.send_and_wait(topic, b"3", partition=0)
        assert sorted(await reading.to_the_end()) == [b"0", b"1", b"2", b"3"]


async def test_the_end_is_also_that_of_partitions_that_were_just_added(
    kafka: str, topic: str, producer: AIOKafkaProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has to know all that is written asks here, before a poll would look for them."""
    monkeypatch.setattr(module, "KNOWN_S", 0)
    async with reading_of(kafka, topic) as reading:
        await grow_topics(kafka, topic, partitions=3)
        await producer.client.force_metadata_update()
        await producer.send_and_wait(topic, b"2", partition=2)
        assert (await reading.reader.ends())[TopicPartition(topic, 2)] == 1


async def test_a_look_in_the_middle_of_a_poll_has_nothing_come_twice(
    kafka: str, topic: str, producer: AIOKafkaProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests look while records are on their way, which lie after the offset that was noted last."""
    async with reading_of(kafka, topic) as reading:
        await reading.to_the_end()
        consumer = reading.reader._started()
        fetch = consumer.getmany

        async def fetch_and_look(timeout_ms: int) -> object:
            batches = await fetch(timeout_ms=timeout_ms)
            await reading.reader.look()
            return batches

        monkeypatch.setattr(consumer, "getmany", fetch_and_look)
        await grow_topics(kafka, topic, partitions=3)
        await producer.send_and_wait(topic, b"2", partition=0)
        async with asyncio.timeout(30):
            while b"2" not in reading.values:
                await reading.reader.poll()
        assert sorted(await reading.to_the_end()) == [b"0", b"1", b"2"]


async def test_an_answer_that_lacks_the_topic_changes_nothing(
    kafka: str, topic: str, producer: AIOKafkaProducer
) -> None:
    """As from a broker that has just come back: what was read does not come again."""
    async with reading_of(kafka, topic) as reading:
        await reading.to_the_end()
        cluster = network(reading.reader._started()).cluster
        brokers = [(each.nodeId, each.host, each.port) for each in cluster.brokers()]
        cluster.update_metadata(MetadataResponse_v0(brokers, [(UNKNOWN, topic, [])]))
        assert not cluster.partitions_for_topic(topic)
        await producer.send_and_wait(topic, b"2", partition=0)
        assert sorted(await reading.to_the_end()) == [b"0", b"1", b"2"]


async def test_the_end_of_a_transaction_is_passed(kafka: str, topic: str, unique: str) -> None:
    """After it nothing may come for long: those that wait for the topic's end are not kept."""
    async with (
        AIOKafkaProducer(bootstrap_servers=kafka, transactional_id=unique) as writer,
        reading_of(kafka, topic) as reading,
    ):
        for word in (b"kept", b"dropped"):
            await writer.begin_transaction()
            await writer.send_and_wait(topic, word, partition=0)
            await (writer.commit_transaction() if word == b"kept" else writer.abort_transaction())
        assert sorted(await reading.to_the_end()) == [b"0", b"1", b"kept"]


async def test_a_topic_that_has_fewer_partitions_is_another_one(
    kafka: str, topic: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It was made again: a fresh process reads that from its beginning. Until it is certain, the log has it."""
    monkeypatch.setattr(module, "GROWTH_S", 0.1)
    async with reading_of(kafka, topic) as reading:
        await reading.to_the_end()
        await make_anew(kafka, topic, 1)
        with pytest.raises(Unavailable, match="has 1 partitions, and had 2"):
            await reading.up_to({TopicPartition(topic, 0): 9})
    assert "a broker reports what may be outdated" in caplog.text


async def test_a_client_that_reads_nothing_any_more_is_noticed(kafka: str, topic: str) -> None:
    """Its fetching has ended, and its polls would find nothing from then on."""
    async with reading_of(kafka, topic) as reading:
        reading.reader._started()._fetcher._fetch_task.cancel()
        with pytest.raises(FatalError, match="fetching task has ended"):
            await reading.up_to({TopicPartition(topic, 0): 1_000})
