"""Records that are written back to the input: refused ones stop nothing."""

import asyncio
import time
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import InvalidTimestampError
from aiokafka.producer.message_accumulator import BatchBuilder

from tests.support.slow_publisher import turns
from tests.support.stage import Stage, until
from tokenmill.errors import FatalError
from tokenmill.worker.inbox import Inbox

pytestmark = pytest.mark.integration

AHEAD_MS = 2 * 3_600_000
"""Twice as far ahead as a broker accepts of a clock."""


@pytest.fixture
async def producer(stage: Stage) -> AsyncIterator[AIOKafkaProducer]:
    """A producer that others share."""
    found = AIOKafkaProducer(bootstrap_servers=stage.bootstrap, enable_idempotence=True)
    await found.start()
    yield found
    await found.stop()


def _inbox(stage: Stage, producer: AIOKafkaProducer, failures: list[Exception]) -> Inbox:
    return Inbox(producer, stage.topics.tokens, 0, acknowledged=lambda _: None, failed=failures.append)


async def test_a_time_that_the_broker_does_not_take_is_told_and_others_are_taken(
    stage: Stage, producer: AIOKafkaProducer, caplog: pytest.LogCaptureFixture
) -> None:
    """From the same producer, too, which counts what it sends to a partition."""
    failures: list[Exception] = []
    box, now = _inbox(stage, producer, failures), int(time.time() * 1000)
    for timestamp, value in ((now, b"1"), (now + AHEAD_MS, b"2"), (now + AHEAD_MS, b"3"), (now, b"4")):
        box.append(timestamp, b"key", value, [])
        box.cut()
        await until(lambda: box.acked == box.begun, "it is taken or refused")
    await producer.send_and_wait(stage.topics.tokens, b"5", partition=0)
    assert [record.value for record in await stage.read(stage.topics.tokens)] == [b"1", b"4", b"5"]
    assert "the broker rejected the timestamps of 1 time-out records" in caplog.text
    assert (box.misdated, box.end, failures) == (True, 2, [])


async def test_what_is_too_long_is_a_failure_in_words_of_its_own(stage: Stage, producer: AIOKafkaProducer) -> None:
    """They are not outputs."""
    await stage.raise_limit(stage.topics.tokens, 500)
    failures: list[Exception] = []
    box = _inbox(stage, producer, failures)

    def refused() -> list[Exception]:
        if box.acked == box.begun:  # the broker applies a limit some time after it was set
            box.append(int(time.time() * 1000), b"key", b"x" * 2_000, [])
            box.flush()
        return failures

    [problem] = await until(refused, "the failure is reported")
    assert isinstance(problem, FatalError)
    assert "was lowered; restart the worker to fit time-out records to it" in str(problem)


class Refusing:
    """A client that counts what it takes, and refuses when the test has it refuse."""

    def __init__(self) -> None:
        self.numbers = {TopicPartition("tokens", 0): 0}
        self._txn_manager = SimpleNamespace(_sequence_numbers=self.numbers)
        self.sent: list[tuple[int, asyncio.Future[None]]] = []

    def create_batch(self) -> Any:
        """A batch that one record fills."""
        return BatchBuilder(100, 0)

    async def send_batch(self, batch: Any, topic: str, *, partition: int) -> asyncio.Future[None]:
        """The caller gets the answer a turn of the loop later than the client, as with the real one."""
        tp = TopicPartition(topic, partition)
        self.sent.append((self.numbers[tp], asyncio.get_running_loop().create_future()))
        self.numbers[tp] += batch.record_count()
        return asyncio.shield(self.sent[-1][1])


async def test_behind_one_that_is_refused_none_has_its_number() -> None:
    """The client has one batch at a time: the next is numbered once the number of the refused one is taken back."""
    client, failures = Refusing(), list[Exception]()
    box = Inbox(client, "tokens", 0, acknowledged=lambda _: None, failed=failures.append)
    for value in (b"1", b"2", b"3"):
        box.append(1, b"key", value * 100, [])
        box.flush()
    assert box.begun == 3
    await turns()
    assert len(client.sent) == 1
    client.sent[0][1].set_exception(InvalidTimestampError())
    await turns()
    assert [number for number, _ in client.sent] == [0, 0]
    client.sent[1][1].set_result(None)
    await turns()
    client.sent[2][1].set_result(None)
    await turns()
    assert [number for number, _ in client.sent] == [0, 0, 1]
    assert (box.acked, box.misdated, failures) == (3, True, [])
