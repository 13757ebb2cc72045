"""A consumer whose background tasks have ended is noticed, on a real Kafka."""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer

from tests.support.topics import make_topics
from tokenmill.errors import FatalError, Unavailable
from tokenmill.kafka.aiokafka_inside import Task, reading_tasks
from tokenmill.kafka.client_tasks import ended, must_read

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("name", ["fetching", "metadata", "coordination"])
async def test_a_task_that_has_ended_is_named(kafka: str, unique: str, name: str) -> None:
    """As the error that its reader asks for; while all tasks run there is none."""
    await make_topics(kafka, topic := f"tasks-{unique}", partitions=1)
    group = unique if name == "coordination" else None
    async with AIOKafkaConsumer(topic, bootstrap_servers=kafka, group_id=group) as consumer:
        must_read(consumer)
        task = reading_tasks(consumer)[name]
        task.cancel()
        await asyncio.wait([task])
        with pytest.raises(FatalError, match=f"the Kafka client's {name} task has ended"):
            must_read(consumer)
        with pytest.raises(Unavailable, match=name):
            must_read(consumer, Unavailable)


async def test_the_reason_is_given() -> None:
    """An error, a cancellation, or a return."""

    async def fail() -> None:
        raise ValueError("odd")

    async def wait() -> None:
        await asyncio.Event().wait()

    tasks: list[Task] = [asyncio.create_task(work) for work in (fail(), wait(), asyncio.sleep(0), wait())]
    tasks[1].cancel()
    await asyncio.wait(tasks[:3])
    told = [*ended((str(number), task) for number, task in enumerate(tasks))]
    assert [each.rpartition(": ")[2] for each in told] == ["ValueError('odd')", "cancelled", "it returned"]
    tasks[3].cancel()
