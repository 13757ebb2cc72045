"""Checks that each sample produced the events it must."""

from collections.abc import Sequence

from tokenmill.demo.samples import Sample
from tokenmill.errors import FatalError
from tokenmill.events import AnyEvent, Error, Finish, ToolCall

NAMES = {"conversation_id", "message_id", "time", "id", "call"}
"""Fields that differ between two messages with the same content."""


def check(sample: Sample, events: Sequence[AnyEvent]) -> None:
    """Raise `FatalError` unless these are all the events of one message, and include what the sample is about."""
    problem = _incomplete(events) or _unexpected(sample, events)
    if problem:
        raise FatalError(f"the conversation {sample.name!r}: {problem}")


def content(events: Sequence[AnyEvent]) -> list[tuple[object, ...]]:
    """Return the events without the names of their message: equal for two messages made of the same chunks."""
    return [
        (event.type, *(getattr(event, field) for field in event.__struct_fields__ if field not in NAMES))
        for event in events
    ]


def _incomplete(events: Sequence[AnyEvent]) -> str:
    numbers = [event.seq for event in events]
    if numbers != list(range(len(events))):
        return f"events are missing or out of order, their seq are {numbers}"
    if not events or not isinstance(events[-1], Finish):
        return "the last event is no finish"
    return ""


def _unexpected(sample: Sample, events: Sequence[AnyEvent]) -> str:
    reasons = [event.reason for event in events if isinstance(event, Finish)]
    calls = sum(isinstance(event, ToolCall) for event in events)
    errors = [event.code for event in events if isinstance(event, Error)]
    if sample.reason is not None and reasons != [sample.reason]:
        return f"it finished with {reasons} instead of {sample.reason!r}"
    if sample.calls is not None and calls != sample.calls:
        return f"{calls} tool calls instead of {sample.calls}"
    if errors != ([sample.error] if sample.error else []):
        return f"the errors {errors} instead of {sample.error!r}"
    return ""
