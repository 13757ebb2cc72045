"""Headers with names of any bytes, as librdkafka writes them and no client in Python does."""

from collections.abc import Iterable
from typing import Self

from aiokafka import AIOKafkaProducer
from aiokafka.record.default_records import DefaultRecordBase, _DefaultRecordBatchBuilderPy
from aiokafka.record.util import calc_crc32c

from tokenmill.records import Headers

LATIN = b"na\xefve"
"""A name that is not UTF-8."""

READ = "na\ufffdve"
"""What readers have of it."""

ROOM = 1 << 20

CRC_AT, ATTRIBUTES_AT = DefaultRecordBase.CRC_OFFSET, DefaultRecordBase.ATTRIBUTES_OFFSET

Content = tuple[bytes, bytes, Headers]
"""Key, value and headers of a record."""


class RawName(str):
    """A name for aiokafka's builder in Python, which asks it for its bytes."""

    __slots__ = ("raw",)

    raw: bytes

    def __new__(cls, raw: bytes) -> Self:
        name = super().__new__(cls, raw.decode(errors="replace"))
        name.raw = raw
        return name

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:  # noqa: ARG002 -- those of the base
        """The bytes themselves."""
        return self.raw


def batch_of(
    records: Iterable[Content], *, first: int = 0, compression: int = 0, producer: int = -1, control: bool = False
) -> bytes:
    """A record batch as a broker gives it, its first record at offset `first`; with a `producer` in a transaction."""
    builder = _DefaultRecordBatchBuilderPy(2, compression, producer >= 0, producer, 0, 0, ROOM)
    for number, (key, value, headers) in enumerate(records):
        builder.append(number, 1_000, key, value, list(headers))
    built = builder.build()
    built[:8] = first.to_bytes(8, "big")
    if control:
        built[ATTRIBUTES_AT + 1] |= DefaultRecordBase.CONTROL_MASK
        built[CRC_AT:ATTRIBUTES_AT] = calc_crc32c(bytes(built[ATTRIBUTES_AT:])).to_bytes(4, "big")
    return bytes(built)


async def send_raw(producer: AIOKafkaProducer, topic: str, partition: int, records: Iterable[Content]) -> int:
    """Write records in one batch to a partition; answers the offset of the first."""
    batch = producer.create_batch()
    # That in C writes UTF-8 only.
    batch._builder = _DefaultRecordBatchBuilderPy(2, 0, 0, -1, -1, 0, ROOM)
    for key, value, headers in records:
        batch.append(key=key, value=value, timestamp=1_000, headers=list(headers))
    batch.close()
    return int((await (await producer.send_batch(batch, topic, partition=partition))).offset)
