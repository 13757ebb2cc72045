"""The background tasks of aiokafka's clients. Once one has ended, `getmany` and `send` do nothing and raise nothing."""

import asyncio
from collections.abc import Iterable, Iterator

from aiokafka import AIOKafkaConsumer

from tokenmill.errors import FatalError, TokenmillError
from tokenmill.kafka.aiokafka_inside import Task, reading_tasks


def ended(tasks: Iterable[tuple[str, Task]]) -> Iterator[str]:
    """A sentence about each of these tasks, given with what it does, that has ended."""
    for name, task in tasks:
        if task.done():
            yield f"the Kafka client's {name} task has ended: {_reason(task)}"


def must_read(consumer: AIOKafkaConsumer, error: type[TokenmillError] = FatalError) -> None:
    """Raise `error` if a task has ended without which the consumer reads nothing; another consumer may read."""
    for sentence in ended(reading_tasks(consumer).items()):
        raise error(sentence)


def _reason(task: "asyncio.Task[object]") -> str:
    if task.cancelled():
        return "cancelled"
    problem = task.exception()
    return "it returned" if problem is None else repr(problem)
