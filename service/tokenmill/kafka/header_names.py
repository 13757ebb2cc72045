"""What aiokafka lacks where a header's name is not UTF-8: the one file that changes how its consumers read records.

Brokers look at no header's name, and librdkafka writes any bytes. aiokafka's decoder raises at such a name, at each new
attempt, too: one record would end the reader of its partition, and then each that takes it over. Here the rest of what
was fetched with it is read by aiokafka's decoder in Python, with U+FFFD for what is not UTF-8. What is fetched without
such a name is read as before, at the same cost.
"""

from typing import Any

from aiokafka.consumer import fetcher
from aiokafka.record.default_records import _DefaultRecordBatchPy
from aiokafka.record.legacy_records import LegacyRecordBatch
from aiokafka.record.memory_records import MemoryRecords, _MemoryRecordsPy

WITH_HEADERS = 2
"""First version of record batches whose records have headers."""


class Fetched(MemoryRecords):  # type: ignore[misc] # made for nobody to inherit from, but nothing else has its bytes
    """Record batches, which keep the bytes that they are read from."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.data = data


class _Names(bytearray):
    """Bytes whose parts can be read as text, whatever they are."""

    def __getitem__(self, place: Any) -> Any:
        part = super().__getitem__(place)
        return part if isinstance(part, int) else _Names(part)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:  # noqa: ARG002 -- that of the base
        return super().decode(encoding, "replace")


class _Batch(_DefaultRecordBatchPy):  # type: ignore[misc] # likewise
    """A batch whose names can all be read."""

    _buffer: bytearray

    def _maybe_uncompress(self) -> None:
        super()._maybe_uncompress()
        self._buffer = _Names(self._buffer)


class Rest(_MemoryRecordsPy):  # type: ignore[misc] # likewise
    """What was fetched, from the batch on that has the record at `offset`."""

    def __init__(self, data: bytes, offset: int) -> None:
        super().__init__(data)
        self.data = data
        while self.has_next() and self._ahead().next_offset <= offset:
            self._cache_next()

    def next_batch(self) -> Any:
        """Return the next batch; there must be one."""
        batch = self._ahead()
        self._cache_next()
        return batch

    def _ahead(self) -> Any:
        data = self._next_slice
        version = data[self.MAGIC_OFFSET]
        return _Batch(data) if version >= WITH_HEADERS else LegacyRecordBatch(data, version)


def _next(records: Any) -> Any:
    """Return the next record, as `PartitionRecords` itself does: calling that would cost each record something."""
    try:
        return next(records._records_iterator)
    except StopIteration:
        records._records_iterator = None
        raise
    except UnicodeDecodeError:
        # What is known of transactions stays: batches that have been read must not be looked at again.
        records._records = Rest(records._records.data, records.next_fetch_offset)
        records._records_iterator = records._unpack_records()
        return next(records)


fetcher.MemoryRecords = Fetched
fetcher.PartitionRecords.__next__ = _next
