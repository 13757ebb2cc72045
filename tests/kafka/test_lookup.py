"""Where records are: by their key, by their time, and from where to where."""

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import RecordsToDelete
from aiokafka.partitioner import DefaultPartitioner

from tests.support.topics import admin_of, make_topics
from tokenmill.demo.broker import embedded_broker
from tokenmill.errors import Unavailable
from tokenmill.kafka.lookup import assign_at, bounds_of, offsets_since, partition_of

T0 = 1_000_000


async def places_of(bootstrap: str, topic: str) -> list[dict[int, int]]:
    """Return where a reader begins for three times, in partitions with two records and with none."""
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        for time in (T0, T0 + 1000):
            await producer.send_and_wait(topic, b"x", partition=0, timestamp_ms=time)
    places = [TopicPartition(topic, number) for number in range(2)]
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap) as consumer:
        consumer.assign(places)
        found = [await offsets_since(consumer, places, time) for time in (-1, T0 + 500, T0 + 2000)]
    return [{place.partition: offset for place, offset in each.items()} for each in found]


@pytest.mark.integration
async def test_a_log_is_read_from_a_time_on(kafka: str, unique: str) -> None:
    """What is older is left out; where all is older nothing is read."""
    await make_topics(kafka, unique, partitions=2)
    assert await places_of(kafka, unique) == [{0: 0, 1: 0}, {0: 1, 1: 0}, {0: 2, 1: 0}]


@pytest.mark.integration
async def test_a_broker_that_knows_no_times_has_all_of_its_log_read() -> None:
    """The embedded one reports for every time that nothing is younger."""
    with embedded_broker(["t"]) as bootstrap:
        assert await places_of(bootstrap, "t") == [{0: 0, 1: 0}] * 3


@pytest.mark.integration
async def test_a_log_has_its_bounds(kafka: str, unique: str) -> None:
    """Its first offset, and the one after its last record; what is wrong is said of which log."""
    await make_topics(kafka, unique, partitions=1)
    place = TopicPartition(unique, 0)
    async with AIOKafkaProducer(bootstrap_servers=kafka) as producer:
        for _ in range(3):
            await producer.send_and_wait(unique, b"x", partition=0)
    async with admin_of(kafka) as admin:
        await admin.delete_records({place: RecordsToDelete(1)})
    async with AIOKafkaConsumer(bootstrap_servers=kafka) as consumer:
        assert await bounds_of(consumer, place) == (1, 3)
        with pytest.raises(Unavailable, match=f"look up the beginning of {unique}/0"):
            await bounds_of(consumer, place, 0)


@pytest.mark.integration
async def test_a_consumer_that_is_placed_again_keeps_what_it_is_given(kafka: str, unique: str) -> None:
    """An assignment alone would let it begin again in partitions that it had before."""
    await make_topics(kafka, unique, partitions=2)
    first, second = (TopicPartition(unique, number) for number in range(2))
    async with AIOKafkaProducer(bootstrap_servers=kafka) as producer:
        for value in (b"0", b"1"):
            await producer.send_and_wait(unique, value, partition=0)
            await producer.send_and_wait(unique, value, partition=1)
    async with AIOKafkaConsumer(bootstrap_servers=kafka, auto_offset_reset="earliest") as consumer:
        assign_at(consumer, {first: 1})
        assert (await consumer.getone()).value == b"1"
        assign_at(consumer, {first: 2, second: 1})
        record = await consumer.getone()
        assert (record.partition, record.value) == (1, b"1")


@pytest.mark.parametrize(("key", "partitions", "place"), [(b"c", 2, 0), (b"c", 3, 1), (b"c", 5, 4)])
def test_a_key_is_where_producers_place_it(key: bytes, partitions: int, place: int) -> None:
    """As aiokafka's own, and Java's."""
    numbers = list(range(partitions))
    assert partition_of(key, partitions) == place == DefaultPartitioner()(key, numbers, numbers)
