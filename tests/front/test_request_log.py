"""The topic of requests as a front reads it."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Self

import pytest
from aiokafka import AIOKafkaProducer, ConsumerRecord

from tests.support.topics import grow_topics, make_topics
from tokenmill.config import Kafka
from tokenmill.demo.broker import embedded_broker
from tokenmill.errors import Unavailable
from tokenmill.front.request_log import RequestLog
from tokenmill.kafka import whole_topic

pytestmark = pytest.mark.integration


class Reading:
    """A log that is read, and what came of it."""

    def __init__(self, kafka: str, topic: str, back_s: float) -> None:
        self.values: list[bytes] = []
        self.log = RequestLog(Kafka(bootstrap_servers=kafka), topic, back_s, self.take)

    def take(self, record: ConsumerRecord) -> None:
        self.values.append(record.value)

    async def __aenter__(self) -> Self:
        await self.log.start()
        self.task = asyncio.create_task(self.log.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self.log.stop()


@pytest.fixture
async def producer(kafka: str) -> AsyncIterator[AIOKafkaProducer]:
    async with AIOKafkaProducer(bootstrap_servers=kafka) as made:
        yield made


async def test_everything_is_read_from_some_time_back(kafka: str, unique: str, producer: AIOKafkaProducer) -> None:
    """What was there when somebody asked is handed on when the answer comes."""
    await make_topics(kafka, topic := f"requests-{unique}", partitions=2)
    await producer.send_and_wait(topic, b"old", partition=0, timestamp_ms=1)
    await producer.send_and_wait(topic, b"young", partition=1)
    async with Reading(kafka, topic, 600) as reading:
        await reading.log.caught_up()
        assert reading.values == [b"young"]
        for number in range(20):
            placed = await producer.send_and_wait(topic, b"%d" % number, partition=number % 2)
            await reading.log.reached(placed.partition, placed.offset)
            assert reading.values[-1] == b"%d" % number
        await reading.log.caught_up()


@pytest.mark.parametrize("knows", ["by the record", "by asking"])
async def test_a_partition_that_is_added_is_read_when_somebody_asks(
    kafka: str, unique: str, producer: AIOKafkaProducer, monkeypatch: pytest.MonkeyPatch, knows: str
) -> None:
    """A retry comes sooner than the next look: its request is known by then, and nothing else comes again."""
    monkeypatch.setattr(whole_topic, "KNOWN_S", 0.0)  # it comes a second later
    await make_topics(kafka, topic := f"requests-{unique}", partitions=1)
    await producer.send_and_wait(topic, b"old", timestamp_ms=1)
    await producer.send_and_wait(topic, b"young")
    async with Reading(kafka, topic, 600) as reading:
        await reading.log.caught_up()
        await grow_topics(kafka, topic, partitions=2)
        await producer.client.force_metadata_update()
        placed = await producer.send_and_wait(topic, b"new", partition=1)
        if knows == "by the record":
            await reading.log.reached(placed.partition, placed.offset)
        else:
            await reading.log.caught_up()
        assert reading.values == [b"young", b"new"]
        placed = await producer.send_and_wait(topic, b"more", partition=0)
        await reading.log.reached(placed.partition, placed.offset)
        assert reading.values == [b"young", b"new", b"more"]


async def test_a_topic_that_is_not_there_is_said_to_be(kafka: str, unique: str) -> None:
    """With the command that makes it; a client would wait for it."""
    with pytest.raises(Unavailable, match="topics create"):
        await RequestLog(Kafka(bootstrap_servers=kafka), f"none-{unique}", 60, lambda _: None).start()


async def test_what_does_not_come_is_not_waited_for_without_an_end(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that is stuck refuses requests that it can't judge."""
    monkeypatch.setattr("tokenmill.front.request_log.CAUGHT_UP_S", 0.1)
    await make_topics(kafka, topic := f"requests-{unique}", partitions=1)
    async with Reading(kafka, topic, 600) as reading:
        for partition in (0, 1):  # and one that never comes to be
            with pytest.raises(Unavailable, match="was not read to its end"):
                await reading.log.reached(partition, 7)


async def test_it_does_not_rest_while_anybody_waits() -> None:
    """The first one who has what he waited for leaves the others waiting."""
    log = RequestLog(Kafka(bootstrap_servers="nobody:1"), "requests", 60, lambda _: None)
    async with log._kept_awake():
        async with log._kept_awake():
            pass
        assert log._wanted.is_set()
    assert not log._wanted.is_set()


async def test_the_embedded_broker_s_records_are_soon_there_too() -> None:
    """It tells a waiting fetch of nothing: a request with a key would take half a second each time."""
    with embedded_broker(["requests"]) as broker:
        async with Reading(broker, "requests", 600) as reading, AIOKafkaProducer(bootstrap_servers=broker) as producer:
            took = [await _seconds_until_read(reading.log, producer) for _ in range(5)]
    assert min(took) < 0.2


async def _seconds_until_read(log: RequestLog, producer: AIOKafkaProducer) -> float:
    """From when a record is written."""
    placed = await producer.send_and_wait("requests", b"asked", partition=0)
    written = time.perf_counter()
    await log.reached(placed.partition, placed.offset)
    return time.perf_counter() - written
