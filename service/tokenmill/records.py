"""Records as the pure core sees them: those from the input topic, and those for the output topics."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol, TypeAlias

import msgspec

Headers: TypeAlias = Sequence[tuple[str, bytes]]

TRACING = ("traceparent", "tracestate")
"""Names of the headers of W3C Trace Context, which outputs copy from their input record."""


class Record(Protocol):
    """An input record of a partition. Records inside aiokafka's batches fit it, so the worker copies nothing."""

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
    """An input record with its topic and partition. aiokafka's `ConsumerRecord` fits it."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...


class InputRecord(msgspec.Struct, frozen=True):
    """An input record that we make: in tests, and from a topic's dump."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]] = []


class Output(msgspec.Struct, frozen=True, gc=False):
    """A record for the partition of `topic` with the same number as the input partition."""

    topic: str
    timestamp: int
    """Timestamp of the input record."""
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]


def header(headers: Headers, name: str) -> bytes | None:
    """The last value of a header, or None: producers that add a header twice mean the later one."""
    for key, value in reversed(headers):
        if key == name:
            return value
    return None


DIGITS = 18
"""Digits of the longest number that is read: all of them fit into 64 bits."""


def number_of(value: bytes, otherwise: int) -> int:
    """The number that is written there; `otherwise` if it is none, or one that we never write."""
    return int(value) if value.isdigit() and len(value) <= DIGITS else otherwise


def number_in(headers: Headers, name: str, otherwise: int) -> int:
    """The number in a header; `otherwise` if it has none, or one that we never write."""
    return number_of(header(headers, name) or b"", otherwise)


def date_of(timestamp: int) -> datetime | None:
    """A record's timestamp, in milliseconds since the epoch, as a date; None if no calendar has it.

    A producer may send any number.
    """
    try:
        return datetime.fromtimestamp(timestamp / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
