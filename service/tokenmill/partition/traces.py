"""The source of every call and what was made of it, for the host's debug log."""

from collections.abc import Sequence
from typing import NamedTuple

from tokenmill.events import Error, Event, ToolCall
from tokenmill.parser.run.run import Span
from tokenmill.partition.message import Choice


class Trace(NamedTuple):
    """A piece of a message's text, and what it became."""

    conversation: str
    message: str
    source: str
    """Text as the model wrote it; of a failed call, as much as its error quotes."""
    made: str


def traced(events: Sequence[Event | Span], choice: Choice) -> tuple[list[Event], list[Trace]]:
    """The events of a traced grammar without its spans, and the traces of calls made of those spans."""
    plain: list[Event] = []
    traces: list[Trace] = []
    source = ""
    for event in events:
        if isinstance(event, Span):
            source = event.source if event.kind == "call" else source
            continue
        plain.append(event)
        made = None
        if isinstance(event, ToolCall):
            made = f"call {event.name} {event.arguments}"
        elif isinstance(event, Error) and isinstance(event.raw, str):
            source, made = event.raw, f"error {event.code}: {event.message}"
        if made is not None:
            traces.append(Trace(choice.envelope.conversation_id, choice.envelope.message_id, source, made))
            source = ""
    return plain, traces
