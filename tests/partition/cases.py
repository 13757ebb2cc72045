"""Cases of the identity rules, as data: `tests/cases/session/*.jsonl`.

A line is `{"name", "records", "events", "dead_letters", "dropped", "open"}`. A record is a native chunk; `_key`,
`_offset`, `_headers` and `_value` stand for the record around it. `events` are lines `id/choice type what`, without the
starts and ends of text blocks; `open` is how many messages are open in the end.
"""

from pathlib import Path
from typing import Any

import msgspec

from tokenmill.events import (
    AnyEvent,
    Error,
    Finish,
    MessageStart,
    Part,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    decode_event,
)
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord, Output

FOLDER = Path(__file__).parents[1] / "cases" / "session"
SETTINGS = PartitionSettings(outputs=(OutputSpec("events"),), dlq="dlq", ended_offsets=6)

Case = dict[str, Any]


def load() -> list[Case]:
    """All cases."""
    lines = [line for path in sorted(FOLDER.glob("*.jsonl")) for line in path.read_text(encoding="utf-8").splitlines()]
    return [msgspec.json.decode(line) for line in lines]


def run(case: Case) -> Case:
    """What comes of the records of a case, in the words of a case."""
    partition, out = Partition(SETTINGS, "tokens", 0), list[Output]()
    for record in case["records"]:
        partition.process([_record(record, partition.offset)], out)
    dead = [dict(output.headers)["tm-error-code"].decode() for output in out if output.topic == "dlq"]
    events = [decode_event(output.value or b"") for output in out if output.topic == "events"]
    return {
        "events": [line for line in map(_line, events) if line],
        "dead_letters": dead,
        "dropped": dict(partition.tally.dropped),
        "open": partition.open_messages,
    }


def _record(fields: dict[str, Any], offset: int) -> InputRecord:
    chunk = {name: value for name, value in fields.items() if not name.startswith("_")}
    value = fields["_value"] if "_value" in fields else msgspec.json.encode(chunk).decode()
    key = fields.get("_key", "c")
    headers = [(name, content.encode()) for name, content in fields.get("_headers", ())]
    return InputRecord(
        "tokens",
        0,
        fields.get("_offset", offset),
        0,
        None if key is None else key.encode(),
        None if value is None else value.encode(),
        headers,
    )


def _line(event: AnyEvent) -> str | None:
    what = _what(event)
    return None if what is None else f"{event.message_id}/{event.choice} {event.type} {what}".rstrip()


def _what(event: AnyEvent) -> str | None:
    match event:
        case MessageStart():
            what: str | None = f"{event.format} {event.model}"
        case TextDelta() | ReasoningDelta():
            what = event.delta
        case ToolCall():
            what = event.name
        case Part():
            what = event.kind
        case Error():
            what = f"{event.code}: {event.message}"
        case Finish():
            usage = msgspec.json.encode(event.usage).decode() if event.usage else ""
            what = f"{event.reason} {usage}"
        case _:
            what = None
    return what
