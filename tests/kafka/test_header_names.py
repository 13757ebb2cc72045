"""A header whose name is not UTF-8 stops no reader."""

from collections.abc import Iterable

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.record.default_records import DefaultRecordBatch

from tests.support.raw_names import LATIN, READ, Content, RawName, batch_of, send_raw
from tests.support.topics import make_topics
from tokenmill.kafka import header_names

PLACE = TopicPartition("t", 0)

ODD: Content = (b"k", b"odd", [("before", b"1"), (RawName(LATIN), b"2"), ("after", b"")])

PLAIN: Content = (b"k", b"plain", [("h", b"1")])

CHECKED = True
"""Batches are read with their checksums checked."""

ABORTED: Content = (bytes(4), bytes(6), [])
"""The marker of a transaction that was aborted."""


def fetched(data: bytes, offset: int = 0, aborted: Iterable[tuple[int, int]] = ()) -> fetcher.PartitionRecords:
    """Return what a consumer of committed records makes of bytes that it fetched from an offset on."""
    batches = fetcher.MemoryRecords(data)
    return fetcher.PartitionRecords(PLACE, batches, list(aborted), offset, None, None, CHECKED, fetcher.READ_COMMITTED)


def test_the_decoder_has_no_such_names() -> None:
    """That is why this file exists: if aiokafka reads them one day, it may go."""
    with pytest.raises(UnicodeDecodeError):
        list(DefaultRecordBatch(batch_of([ODD])))


@pytest.mark.parametrize("compression", [0, 1, 2, 3, 4])
def test_such_a_name_is_replaced_and_nothing_else_changes(compression: int) -> None:
    """Offsets, keys, values and other headers are unchanged, before it, after it and in other batches."""
    data = b"".join(
        [
            batch_of([PLAIN, PLAIN], first=10, compression=compression),
            batch_of([PLAIN, ODD, PLAIN, ODD], first=12, compression=compression),
            batch_of([PLAIN], first=20, compression=compression),
            batch_of([ODD], first=21, compression=compression),
        ]
    )
    records = list(fetched(data, offset=11))
    assert [record.offset for record in records] == [11, 12, 13, 14, 15, 20, 21]
    assert [record.value for record in records] == [b"plain", b"plain", b"odd", b"plain", b"odd", b"plain", b"odd"]
    assert {(record.topic, record.key, record.timestamp) for record in records} == {("t", b"k", 1_000)}
    assert {record.headers for record in records if record.value == b"plain"} == {(("h", b"1"),)}
    odd = (("before", b"1"), (READ, b"2"), ("after", b""))
    assert {record.headers for record in records if record.value == b"odd"} == {odd}


def test_where_reading_goes_on() -> None:
    """After each record that was returned, and after the last batch: nothing comes twice, and nothing is left out."""
    records = fetched(batch_of([ODD, PLAIN]) + batch_of([ODD], first=7)[:-1])
    places = [records.next_fetch_offset, *(records.next_fetch_offset for _ in records), records.next_fetch_offset]
    assert places == [0, 1, 2, 2]


def test_a_name_within_transactions() -> None:
    """What was aborted is left out, what the same producer committed after it is not, as without such names."""
    marker = batch_of([ABORTED], first=6, producer=5, control=True)
    data = b"".join(
        [
            batch_of([PLAIN, ODD], first=4, producer=5),
            marker,
            batch_of([PLAIN], first=7, producer=5),
            batch_of([ODD], first=8, producer=5),
            batch_of([ODD], first=9, producer=6),
            batch_of([ODD], first=10, producer=5),
        ]
    )
    assert [record.offset for record in fetched(data, 4, [(5, 4), (6, 9)])] == [7, 8, 10]


def test_who_reads_plain_names_pays_nothing() -> None:
    """The decoder in C reads them: the other one is used from a batch with such a name on."""
    data = batch_of([PLAIN]) + batch_of([ODD], first=1)
    records = fetched(data)
    next(records)
    assert isinstance(records._records, header_names.Fetched)
    next(records)
    assert isinstance(records._records, header_names.Rest)
    assert records._records.data is data


def test_a_batch_that_is_broken_is_refused_as_ever() -> None:
    """Its checksum is checked, after such a name as before it."""
    broken = bytearray(batch_of([PLAIN], first=1))
    broken[-1] ^= 1
    records = fetched(batch_of([ODD]) + bytes(broken))
    assert next(records).value == b"odd"
    with pytest.raises(fetcher.Errors.CorruptRecordException):
        next(records)


@pytest.mark.integration
async def test_a_broker_takes_any_name_and_a_consumer_reads_on(kafka: str, unique: str) -> None:
    """All that is on the partition, with `getone` as with `getmany`."""
    topic = f"names-{unique}"
    await make_topics(kafka, topic, partitions=1)
    producer = AIOKafkaProducer(bootstrap_servers=kafka)
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=kafka, auto_offset_reset="earliest")
    await producer.start()
    await consumer.start()
    try:
        assert await send_raw(producer, topic, 0, [PLAIN, ODD, PLAIN]) == 0
        await producer.send_and_wait(topic, b"last", partition=0)
        assert [(await consumer.getone()).offset for _ in range(2)] == [0, 1]
        [rest] = (await consumer.getmany(timeout_ms=10_000)).values()
        assert rest[0].value == b"plain"
    finally:
        await consumer.stop()
        await producer.stop()
