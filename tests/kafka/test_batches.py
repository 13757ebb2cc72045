"""Batches that are filled directly are those that the client itself would make."""

from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from tokenmill.kafka.batches import Batch

ROOM = 200
"""Bytes of a batch."""


def _filled(*values: bytes) -> Batch:
    """Return a closed batch of these."""
    batch = Batch(BatchBuilder(ROOM, 0))
    for value in values:
        assert batch.append(batch.records, 1_000, b"key", value, [("tm-seq", b"1")]) is not None
        batch.records += 1
    batch.close()
    return batch


def test_a_batch_is_byte_for_byte_the_clients_own() -> None:
    """With the count by which the client numbers its records."""
    filled, own = _filled(b"a", b"b"), BatchBuilder(ROOM, 0)
    for value in (b"a", b"b"):
        own.append(timestamp=1_000, key=b"key", value=value, headers=[("tm-seq", b"1")])
    assert (filled.size, filled.client.record_count()) == (own.size(), own.record_count())
    assert bytes(filled.client._build()) == bytes(own._build())


def test_a_full_batch_takes_no_more() -> None:
    """And holds what it had."""
    batch = Batch(BatchBuilder(ROOM, 0))
    batch.append(0, 1_000, b"key", b"x" * 100, [])
    assert batch.append(1, 1_000, b"key", b"x" * 100, []) is None
    batch.records = 1
    batch.close()
    records = MemoryRecords(bytes(batch.client._build()))
    assert [record.value for record in records.next_batch()] == [b"x" * 100]


def test_an_empty_batch_takes_whatever_it_is() -> None:
    """The broker refuses what is too large, not the batch: an outbox relies on that when it begins one."""
    batch = _filled(b"x" * 10 * ROOM)
    assert batch.size > 10 * ROOM
