"""Record batches on their way to a real Kafka: in order, counted, with the timestamps of their input."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaTimeoutError

from tests.support.slow_publisher import SlowPublisher, turns
from tests.support.stage import Stage, until
from tokenmill.worker.outbox import Outbox

pytestmark = pytest.mark.integration

SMALL = 2_000
"""Bytes of a batch, so that a test makes many."""


class Ends:
    """What an outbox reported."""

    def __init__(self) -> None:
        self.records = 0
        self.failures: list[Exception] = []

    def acknowledged(self, records: int) -> None:
        self.records += records


@pytest.fixture
async def producer(stage: Stage) -> AsyncIterator[AIOKafkaProducer]:
    """With small batches."""
    found = AIOKafkaProducer(bootstrap_servers=stage.bootstrap, enable_idempotence=True, max_batch_size=SMALL)
    await found.start()
    yield found
    await found.stop()


def _outbox(producer: AIOKafkaProducer, topic: str, ends: Ends) -> Outbox:
    return Outbox(producer, topic, 1, acknowledged=ends.acknowledged, failed=ends.failures.append)


async def test_records_arrive_in_order_with_their_timestamps(stage: Stage, producer: AIOKafkaProducer) -> None:
    """Over many batches; keys, values and headers as given; in the partition of the outbox."""
    ends = Ends()
    box = _outbox(producer, stage.topics.events, ends)
    for number in range(500):
        box.append(1_000 + number, b"key", b"%d" % number, [("tm-seq", b"%d" % number)])
        if number % 50 == 0:
            box.flush()
    box.flush()
    await until(lambda: box.acked == box.begun, "everything is acknowledged")
    found = await stage.read(stage.topics.events)
    assert [(r.partition, r.timestamp, r.key, r.value, r.headers) for r in found] == [
        (1, 1_000 + number, b"key", b"%d" % number, (("tm-seq", b"%d" % number),)) for number in range(500)
    ]
    assert box.begun > 5
    assert (ends.records, box.end) == (500, 500)
    assert box.unacked_bytes == 0
    assert ends.failures == []


async def test_where_the_acknowledged_ends_is_known(stage: Stage, producer: AIOKafkaProducer) -> None:
    """By the topic's offsets, whatever others write there; what is not acknowledged does not count."""
    ends = Ends()
    box = _outbox(producer, stage.topics.events, ends)
    await producer.send_and_wait(stage.topics.events, b"another's", partition=1)
    for number in range(3):
        box.append(1, b"key", b"%d" % number, [])
    assert box.end == 0
    box.flush()
    await until(lambda: box.acked == box.begun, "everything is acknowledged")
    assert box.end == 4


async def test_records_join_while_a_batch_is_on_its_way() -> None:
    """However often it is flushed: the busier the broker, the larger the batches."""
    slow, ends = SlowPublisher(SMALL), Ends()
    box = Outbox(slow, "events", 1, acknowledged=ends.acknowledged, failed=ends.failures.append)
    for number in range(10):
        box.append(1, b"key", b"%d" % number, [])
        box.flush()
        await turns()
    assert (box.begun, box.acked, len(slow.sent)) == (2, 0, 1)
    slow.sent[0].set_result(None)
    await turns()
    assert (ends.records, len(slow.sent)) == (1, 2)
    slow.sent[1].set_result(None)
    await turns()
    assert (ends.records, box.acked) == (10, 2)
    assert ends.failures == []


async def test_behind_a_batch_that_did_not_arrive_nothing_counts() -> None:
    """Otherwise an offset could be committed whose outputs are missing."""
    slow, ends = SlowPublisher(SMALL), Ends()
    box = Outbox(slow, "events", 1, acknowledged=ends.acknowledged, failed=ends.failures.append)
    for value in (b"1", b"2"):
        box.append(1, b"key", value, [])
        box.cut()
        await turns()
    slow.sent[0].set_exception(KafkaTimeoutError())
    slow.sent[1].set_result(None)
    await turns()
    box.append(1, b"key", b"3", [])
    box.cut()
    await turns()
    assert (len(slow.sent), box.acked, ends.records) == (2, 0, 0)
    assert [type(problem) for problem in ends.failures] == [KafkaTimeoutError]


async def test_a_cut_lets_go_what_was_appended_before_it(stage: Stage, producer: AIOKafkaProducer) -> None:
    """What comes after waits for the next cut, whatever else happens."""
    ends = Ends()
    box = _outbox(producer, stage.topics.events, ends)
    for number in range(100):
        box.append(1, b"key", b"%d" % number, [])
    box.cut()
    first = box.begun
    for number in range(100, 200):
        box.append(1, b"key", b"%d" % number, [])
    await until(lambda: box.acked == first, "everything before the cut is acknowledged")
    assert ends.records == 100
    assert box.unacked_bytes > 0
    box.cut()
    await until(lambda: ends.records == 200, "the rest is acknowledged, too")
    assert [record.value for record in await stage.read(stage.topics.events)] == [b"%d" % n for n in range(200)]


async def test_a_record_alone_may_be_longer_than_a_batch(stage: Stage, producer: AIOKafkaProducer) -> None:
    """It gets a batch of its own."""
    ends = Ends()
    box = _outbox(producer, stage.topics.events, ends)
    for value in (b"short", b"x" * 5 * SMALL, b"short"):
        box.append(1, b"key", value, [])
    assert box.unacked_bytes > 5 * SMALL
    box.flush()
    await until(lambda: ends.records == 3, "everything is acknowledged")


async def test_a_batch_that_is_refused_is_a_failure(stage: Stage, producer: AIOKafkaProducer) -> None:
    """It exceeds the topic's own limit: the worker must hear of it, because nothing after it would arrive either."""
    await stage.raise_limit(stage.topics.events, 500)
    ends = Ends()
    box = _outbox(producer, stage.topics.events, ends)

    def refused() -> list[Exception]:
        if box.acked == box.begun:  # the broker applies a limit some time after it was set
            box.append(1, b"key", b"x" * SMALL, [])
            box.flush()
        return ends.failures

    await until(refused, "the failure is reported")
    assert box.acked < box.begun


async def test_an_unknown_partition_is_a_failure(stage: Stage, producer: AIOKafkaProducer) -> None:
    """The output has fewer partitions than the input."""
    ends = Ends()
    box = Outbox(producer, stage.topics.events, 7, acknowledged=ends.acknowledged, failed=ends.failures.append)
    box.append(1, b"key", b"value", [])
    box.flush()
    await until(lambda: ends.failures, "the failure is reported")


async def test_a_closed_outbox_sends_nothing_more(stage: Stage, producer: AIOKafkaProducer) -> None:
    """What was appended before and not sent stays unsent."""
    ends = Ends()
    box = _outbox(producer, stage.topics.events, ends)
    box.append(1, b"key", b"value", [])
    box.flush()
    box.close()
    box.append(1, b"key", b"value", [])
    box.flush()
    await asyncio.sleep(0)
    assert await stage.read(stage.topics.events) == []
    assert ends.failures == []
    box = Outbox(slow := SlowPublisher(SMALL), "events", 1, acknowledged=ends.acknowledged, failed=ends.failures.append)
    box.append(1, b"key", b"value", [])
    box.close()
    box.flush()
    await turns()
    assert slow.sent == []


async def test_what_waits_behind_a_batch_is_not_sent_once_it_is_closed() -> None:
    """The partition may be another worker's when that batch is acknowledged."""
    slow, ends = SlowPublisher(SMALL), Ends()
    box = Outbox(slow, "events", 1, acknowledged=ends.acknowledged, failed=ends.failures.append)
    for value in (b"1", b"2"):
        box.append(1, b"key", value, [])
        box.flush()
        await turns()
    box.close()
    slow.sent[0].set_result(None)
    await turns()
    assert (len(slow.sent), box.begun, ends.failures) == (1, 2, [])
