"""Records as JSON, and the outputs that a worker makes of them: the oracle of the integration tests.

A record is `{"topic", "partition", "offset", "timestamp", "key", "headers", "value"}`. Bytes are a string if they are
UTF-8, else `{"base64": …}`. Headers are a list of pairs.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from tokenmill.partition import Partition, PartitionSettings
from tokenmill.records import InputRecord, Output, PlacedRecord

Json: TypeAlias = dict[str, Any]

Data: TypeAlias = str | Annotated[dict[Literal["base64"], str], Meta(min_length=1)]
"""Bytes in JSON."""


class _Line(msgspec.Struct):
    """A record in JSON."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: Data | None
    value: Data | None
    headers: list[tuple[str, Data]] | None = None


SETTLE_EVERY = 10_000
"""Number of records after which partitions drop their lists of changes, which would grow without limit."""


def record_to_json(record: PlacedRecord) -> Json:
    """Return an input record as a JSON object."""
    place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
    return place | _content(record.timestamp, record.key, record.headers, record.value)


def record_from_json(value: Mapping[str, Any]) -> InputRecord:
    """Return the input record in a JSON object, whose headers may be missing.

    Raises `ValueError` if it is no record.
    """
    line = msgspec.convert(value, _Line)
    return InputRecord(
        topic=line.topic,
        partition=line.partition,
        offset=line.offset,
        timestamp=line.timestamp,
        key=to_bytes(line.key),
        value=to_bytes(line.value),
        headers=[(name, to_bytes(content) or b"") for name, content in line.headers or ()],
    )


def output_to_json(output: Output, partition: int) -> Json:
    """Return an output record as a JSON object. It has no offset yet."""
    place = {"topic": output.topic, "partition": partition}
    return place | _content(output.timestamp, output.key, output.headers, output.value)


def replay_records(records: Iterable[PlacedRecord], settings: PartitionSettings) -> Iterator[Json]:
    """Yield the output records of a worker that reads these input records, as JSON objects, in order."""
    partitions: dict[tuple[str, int], Partition] = {}
    out: list[Output] = []
    for count, record in enumerate(records, 1):
        place = record.topic, record.partition
        partition = partitions.get(place)
        if partition is None:
            partition = partitions[place] = Partition(settings, *place, record.offset)
        partition.process((record,), out)
        for output in out:
            yield output_to_json(output, record.partition)
        out.clear()
        if count % SETTLE_EVERY == 0:
            for each in partitions.values():
                each.mark()
                each.drain()


def _content(timestamp: int, key: bytes | None, headers: Iterable[tuple[str, bytes]], value: bytes | None) -> Json:
    pairs = [[name, _from_bytes(content)] for name, content in headers]
    return {"timestamp": timestamp, "key": _from_bytes(key), "headers": pairs, "value": _from_bytes(value)}


def _from_bytes(data: bytes | None) -> str | Json | None:
    try:
        return data.decode() if data is not None else None
    except UnicodeDecodeError:
        return {"base64": b64encode(data or b"").decode()}


def to_bytes(value: Data | None) -> bytes | None:
    """Return the bytes that a value in JSON stands for; None for null. Raises `ValueError` for wrong base64."""
    if value is None or isinstance(value, str):
        return value.encode() if value is not None else None
    return b64decode(value["base64"], validate=True)
