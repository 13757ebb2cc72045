"""Records as the pure core sees them: what comes from the input topic and what goes to the output topics."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol, TypeAlias

import msgspec

Headers: TypeAlias = Sequence[tuple[str, bytes]]

TRACING = ("traceparent", "tracestate")
"""Names of the headers of W3C Trace Context: what comes of a record has them as that has."""


class Record(Protocol):
    """An input record of a partition. Those inside aiokafka's record batches are some, so the worker copies nothing."""

    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Headers: ...


class PlacedRecord(Record, Protocol):
    """An input record that knows where it is from. aiokafka's `ConsumerRecord` is one."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...


class InputRecord(msgspec.Struct, frozen=True):
    """An input record made by us: in tests, and where a dump of a topic is read."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]] = []


class Output(msgspec.Struct, frozen=True, gc=False):
    """A record for the partition of `topic` that has the number of the input partition."""

    topic: str
    timestamp: int
    """The input record's own."""
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]


def header(headers: Headers, name: str) -> bytes | None:
    """The last value of a header, or None: producers that add a header twice mean the later one."""
    for key, value in reversed(headers):
        if key == name:
            return value
    return None


def date_of(timestamp: int) -> datetime | None:
    """A record's timestamp, in milliseconds since the epoch, as a date; None for what no calendar has.

    A producer may say any number.
    """
    try:
        return datetime.fromtimestamp(timestamp / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
