"""What was said on the topic, before and after a reader came."""

import asyncio
import time

import msgspec
import pytest
from aiokafka import AIOKafkaProducer

from tests.support.stage import until
from tests.support.topics import grow_topics, make_topics
from tokenmill.config import Kafka
from tokenmill.errors import Unavailable
from tokenmill.kafka import whole_topic
from tokenmill.tasks import beside
from tokenmill.tools.call import Call
from tokenmill.tools.control import Approval, Cancel, Control, Orders
from tokenmill.tools.control_log import ControlLog

pytestmark = pytest.mark.integration

BACK_S = 60


def word(approval: str) -> Control:
    return Approval(approval=approval, granted=True)


async def test_what_was_said_is_known_and_what_is_said_is_heard(kafka: str, unique: str) -> None:
    """In every partition, as far back as it may matter."""
    topic, orders, told = f"control-{unique}", Orders(), list[int]()
    await make_topics(kafka, topic, partitions=3)
    async with AIOKafkaProducer(bootstrap_servers=kafka) as producer:

        async def say(partition: int, approval: str, age_s: float = 0) -> None:
            stamp = int((time.time() - age_s) * 1000)
            value = msgspec.json.encode(word(approval))
            await producer.send_and_wait(topic, value, partition=partition, timestamp_ms=stamp)

        await say(0, "old", age_s=2 * BACK_S)
        await say(0, "one")
        await say(2, "two", age_s=BACK_S / 2)
        log = ControlLog(Kafka(bootstrap_servers=kafka), topic, BACK_S, orders.take, lambda: told.append(1))
        reading = asyncio.create_task(log.run())
        await log.read.wait()
        assert [bool(orders.answer(name)) for name in ("old", "one", "two", "three")] == [False, True, True, False]
        before = len(told)
        await say(1, "three")
        await until(lambda: orders.answer("three"), "the word")
        await until(lambda: len(told) > before, "somebody is told")
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def test_what_is_said_on_a_partition_that_was_added_is_heard(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Soon, and nothing of the others is heard again."""
    monkeypatch.setattr(whole_topic, "GROWTH_S", 0.2)
    topic, orders, heard = f"control-{unique}", Orders(), list[int]()
    await make_topics(kafka, topic, partitions=1)

    def take(control: Control, time_ms: int) -> None:
        heard.append(time_ms)
        orders.take(control, time_ms)

    async with AIOKafkaProducer(bootstrap_servers=kafka) as producer:
        await producer.send_and_wait(topic, msgspec.json.encode(word("old")), timestamp_ms=1)
        log = ControlLog(Kafka(bootstrap_servers=kafka), topic, BACK_S, take)
        reading = asyncio.create_task(log.run())
        await log.read.wait()
        await grow_topics(kafka, topic, partitions=2)
        await producer.client.force_metadata_update()
        await producer.send_and_wait(topic, msgspec.json.encode(word("new")), partition=1)
        await until(lambda: orders.answer("new"), "the word")
        assert len(heard) == 1
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def test_what_is_said_by_a_clock_that_is_ahead_is_said_now(kafka: str, unique: str) -> None:
    """Otherwise a cancel would stop every call of its conversation until that time has come."""
    topic, orders, now = f"control-{unique}", Orders(), int(time.time() * 1000)
    await make_topics(kafka, topic, partitions=1)
    cancel = msgspec.json.encode(Cancel(conversation_id="c"))
    async with AIOKafkaProducer(bootstrap_servers=kafka) as producer:
        await producer.send_and_wait(topic, cancel, timestamp_ms=now + 3_000_000)
    log = ControlLog(Kafka(bootstrap_servers=kafka), topic, BACK_S, orders.take)
    async with beside(log.run(), "the control log"):
        await log.read.wait()
    calls = [Call("c", "m", 0, opened, "call_1", "f", {}, opened) for opened in (now, now + 600_000)]
    assert [orders.cancelled(call) for call in calls] == [True, False]


async def test_without_its_topic_nobody_is_heard(kafka: str, unique: str) -> None:
    """It says which one is missing, and how it comes to be."""
    log = ControlLog(Kafka(bootstrap_servers=kafka), f"none-{unique}", BACK_S, Orders().take)
    with pytest.raises(Unavailable, match="`tokenmill topics create` makes it"):
        await log.run()
