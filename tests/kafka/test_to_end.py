"""Readings that end, or notice that Kafka is away."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from types import SimpleNamespace

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.support.stage import until
from tests.support.topics import make_topics, write_topic
from tokenmill.demo.broker import embedded_broker
from tokenmill.errors import Unavailable
from tokenmill.kafka import to_end as module
from tokenmill.kafka.calls import deadline
from tokenmill.kafka.to_end import ToEnd

pytestmark = pytest.mark.integration


@asynccontextmanager
async def reader(bootstrap: str, *places: TopicPartition) -> AsyncIterator[AIOKafkaConsumer]:
    """One that begins at the first record of these partitions."""
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign(places)
        for place in places:
            consumer.seek(place, 0)
        yield consumer


async def test_the_end_is_reached_when_everything_is_given(kafka: str, unique: str) -> None:
    """Of every partition; one that is empty is at its end."""
    await make_topics(kafka, topic := f"end-{unique}", partitions=2)
    await write_topic(kafka, topic, [(b"k", b"%d" % number, []) for number in range(3)], 0)
    first, empty = TopicPartition(topic, 0), TopicPartition(topic, 1)
    async with reader(kafka, first, empty) as consumer, asyncio.timeout(30):
        end, seen = ToEnd(consumer, {first: 3, empty: 0}, "read"), 0
        while not await end.reached():
            assert seen < 3
            seen += sum(map(len, (await consumer.getmany(timeout_ms=200, max_records=1)).values()))
        assert seen == 3
        assert await ToEnd(consumer, {}, "read").reached()


async def test_a_kafka_that_answers_is_waited_for(kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked now and then while nothing comes."""
    now = [0.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    await make_topics(kafka, topic := f"end-{unique}", partitions=1)
    place, asked = TopicPartition(topic, 0), list[int]()
    async with reader(kafka, place) as consumer:
        ends = consumer.end_offsets

        async def counted(places: list[TopicPartition]) -> dict[TopicPartition, int]:
            found: dict[TopicPartition, int] = await ends(places)
            asked.append(found[place])
            return found

        monkeypatch.setattr(consumer, "end_offsets", counted)
        end = ToEnd(consumer, {place: 1}, "read")
        for now[0], times in ((0, 0), (11, 1), (12, 1), (20, 1), (22, 2)):
            assert not await end.reached()
            assert len(asked) == times
        await write_topic(kafka, topic, [(b"k", b"", [])], 0)

        async def over() -> bool:
            await consumer.getmany(timeout_ms=200)
            return await end.reached()

        await until(over, "the record is read", 20)


async def test_a_kafka_that_is_away_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a deadline: the consumer itself would wait without end."""
    monkeypatch.setattr(module, "SILENT_S", 0.1)
    monkeypatch.setattr(module, "deadline", partial(deadline, seconds=1))
    place = TopicPartition("tokens", 0)
    with embedded_broker(["tokens"]) as bootstrap:
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap)
        await consumer.start()
        consumer.assign([place])
        consumer.seek(place, 0)
    try:
        end = ToEnd(consumer, {place: 1}, "read tokens")
        with pytest.raises(Unavailable, match="read tokens"):
            await until(end.reached, "it is noticed", 20)
    finally:
        await consumer.stop()
