"""What becomes of a provider's stream: its records through a codec and a partition, summed up."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from tests.support.parsing import reasoning_of, text_of
from tokenmill.events import (
    AnyEvent,
    Error,
    Finish,
    MessageStart,
    Part,
    ToolCall,
    decode_event,
)
from tokenmill.parser import Options
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord, Output


class Provided(NamedTuple):
    """All that came out, of all messages."""

    events: list[AnyEvent]
    rejected: list[str]
    """Codes of dead letters."""

    @property
    def text(self) -> str:
        """Visible text."""
        return text_of(self.events)

    @property
    def reasoning(self) -> str:
        """Reasoning."""
        return reasoning_of(self.events)

    @property
    def calls(self) -> list[tuple[str, Any]]:
        """Names and arguments of complete calls."""
        return [(event.name, event.arguments) for event in self.events if isinstance(event, ToolCall)]

    @property
    def call_ids(self) -> list[str]:
        """Their ids."""
        return [event.id for event in self.events if isinstance(event, ToolCall)]

    @property
    def parts(self) -> list[tuple[str, Any]]:
        """Kind and value of other content."""
        return [(event.kind, event.value) for event in self.events if isinstance(event, Part)]

    @property
    def errors(self) -> list[tuple[str, str]]:
        """Code and message of errors."""
        return [(event.code, event.message) for event in self.events if isinstance(event, Error)]

    @property
    def messages(self) -> list[tuple[str, str]]:
        """Id and model of the messages that began."""
        return [(event.message_id, event.model) for event in self.events if isinstance(event, MessageStart)]

    @property
    def ends(self) -> list[tuple[str, Any]]:
        """Reason and usage of the messages that ended."""
        return [
            (event.reason, None if event.usage is msgspec.UNSET else event.usage)
            for event in self.events
            if isinstance(event, Finish)
        ]


def provided(codec: str, *values: Any, headers: Sequence[tuple[str, bytes]] = (), **options: Any) -> Provided:
    """What comes of records: bytes and null as they are, other values as JSON."""
    settings = PartitionSettings(
        defaults=Options(**options), codec=codec, outputs=(OutputSpec("events"),), dlq="dlq", ended_offsets=100
    )
    partition, out = Partition(settings, "tokens", 0), list[Output]()
    for offset, value in enumerate(values):
        raw = value if isinstance(value, bytes | None) else msgspec.json.encode(value)
        partition.process([InputRecord("tokens", 0, offset, offset, b"c", raw, list(headers))], out)
    events = [decode_event(output.value or b"") for output in out if output.topic == "events"]
    letters = [dict(output.headers)["tm-error-code"].decode() for output in out if output.topic == "dlq"]
    return Provided(events, letters)
