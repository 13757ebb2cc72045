"""Records without a second object around each are the same records."""

import pytest
from aiokafka import AIOKafkaConsumer, ConsumerRecord

from tests.support.stage import Stage, until
from tokenmill.kafka.fetched import unwrap_fetched

pytestmark = pytest.mark.integration


async def test_fetched_records_are_as_they_came(stage: Stage) -> None:
    """Offset, timestamp, key, value and headers; the consumer's position moves as usual."""
    for number in range(3):
        await stage.send(b"k", b"%d" % number, [("h", b"%d" % number)], partition=0)
    consumer = AIOKafkaConsumer(stage.topics.tokens, bootstrap_servers=stage.bootstrap, auto_offset_reset="earliest")
    await consumer.start()
    try:
        await until(lambda: consumer._fetcher._records, "something is fetched")
        unwrap_fetched(consumer)
        [(place, records)] = (await consumer.getmany(timeout_ms=5_000)).items()
        assert not any(isinstance(record, ConsumerRecord) for record in records)
        assert [(r.offset, r.key, r.value, list(r.headers)) for r in records] == [
            (number, b"k", b"%d" % number, [("h", b"%d" % number)]) for number in range(3)
        ]
        assert all(record.timestamp > 0 for record in records)
        assert await consumer.position(place) == 3
    finally:
        await consumer.stop()
