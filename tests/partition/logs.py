"""Short ways to write a log, run it and read what came out."""

from typing import Any

import msgspec

from tokenmill.events import AnyEvent, decode_event
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord, Output

SETTINGS = PartitionSettings(outputs=(OutputSpec("events"),), dlq="dlq", ended_offsets=100)


def record(
    offset: int, chunk: dict[str, Any] | bytes | None = None, key: bytes | None = b"c", **headers: str
) -> InputRecord:
    """A record with a native chunk, or with a value as it is; its timestamp is 1000 more than its offset."""
    value = msgspec.json.encode(chunk) if isinstance(chunk, dict) else chunk
    pairs = [(name.replace("_", "-"), content.encode()) for name, content in headers.items()]
    return InputRecord("tokens", 0, offset, 1_000 + offset, key, value, pairs)


def log(*chunks: dict[str, Any], start: int = 0) -> list[InputRecord]:
    """Records of native chunks, from offset `start` on."""
    return [record(offset, chunk) for offset, chunk in enumerate(chunks, start)]


def run(partition: Partition, records: list[InputRecord]) -> list[Output]:
    """What comes out of the records."""
    out: list[Output] = []
    partition.process(records, out)
    return out


def partition(*chunks: dict[str, Any], settings: PartitionSettings = SETTINGS) -> Partition:
    """A partition that has read these chunks."""
    state = Partition(settings, "tokens", 0)
    run(state, log(*chunks))
    return state


def events(outputs: list[Output]) -> list[AnyEvent]:
    """The events among outputs."""
    return [decode_event(output.value or b"") for output in outputs if output.topic == "events"]


def types(outputs: list[Output]) -> list[str]:
    """The types of the events among outputs."""
    return [event.type for event in events(outputs)]
