"""Records that lead back to the input: refused ones stop nothing."""

import time
from collections.abc import AsyncIterator

import pytest
from aiokafka import AIOKafkaProducer

from tests.support.stage import Stage, until
from tokenmill.errors import FatalError
from tokenmill.worker.inbox import Inbox

pytestmark = pytest.mark.integration

AHEAD_MS = 2 * 3_600_000
"""Twice what a broker takes of a clock that is ahead."""


@pytest.fixture
async def producer(stage: Stage) -> AsyncIterator[AIOKafkaProducer]:
    """One that others share."""
    found = AIOKafkaProducer(bootstrap_servers=stage.bootstrap, enable_idempotence=True)
    await found.start()
    yield found
    await found.stop()


def _inbox(stage: Stage, producer: AIOKafkaProducer, failures: list[Exception]) -> Inbox:
    return Inbox(producer, stage.topics.tokens, 0, acknowledged=lambda _: None, failed=failures.append)


async def test_a_time_that_the_broker_does_not_take_is_told_and_others_are_taken(
    stage: Stage, producer: AIOKafkaProducer, caplog: pytest.LogCaptureFixture
) -> None:
    """Also of the same producer, which counts what it sends to a partition."""
    failures: list[Exception] = []
    box, now = _inbox(stage, producer, failures), int(time.time() * 1000)
    for timestamp, value in ((now, b"1"), (now + AHEAD_MS, b"2"), (now + AHEAD_MS, b"3"), (now, b"4")):
        box.append(timestamp, b"key", value, [])
        box.cut()
        await until(lambda: box.acked == box.begun, "it is taken or refused")
    await producer.send_and_wait(stage.topics.tokens, b"5", partition=0)
    assert [record.value for record in await stage.read(stage.topics.tokens)] == [b"1", b"4", b"5"]
    assert "the broker does not take the time of 1 records" in caplog.text
    assert (box.misdated, box.end, failures) == (True, 2, [])


async def test_what_is_too_long_is_a_failure_in_words_of_its_own(stage: Stage, producer: AIOKafkaProducer) -> None:
    """They are no outputs."""
    await stage.raise_limit(stage.topics.tokens, 500)
    failures: list[Exception] = []
    box = _inbox(stage, producer, failures)

    def refused() -> list[Exception]:
        if box.acked == box.begun:  # the broker heeds a limit some time after it took it
            box.append(int(time.time() * 1000), b"key", b"x" * 2_000, [])
            box.flush()
        return failures

    [problem] = await until(refused, "the failure is told")
    assert isinstance(problem, FatalError)
    assert "lowered; records that end what is idle are fitted to it at the next start" in str(problem)
