"""Calls as they stand on the topic."""

import msgspec
import pytest

from tokenmill.events import Event, TextDelta, ToolCall
from tokenmill.records import InputRecord
from tokenmill.tools.call import Call, call_of

EVENT = ToolCall("call_1", "weather__note", {"a": [1]}, conversation_id="c", message_id="m", choice=1, seq=4, time=7)

HEADERS = [("tm-message-id", b"m"), ("tm-opened", b"99"), ("traceparent", b"00-ab-cd-01")]


def record(event: Event | bytes, headers: list[tuple[str, bytes]]) -> InputRecord:
    value = event if isinstance(event, bytes) else msgspec.json.encode(event)
    return InputRecord("tool-calls", 2, 5, 1_234, b"c", value, headers)


def test_a_record_is_a_call_of_its_message() -> None:
    """With the time of its record, and what traces it."""
    tracing = (("traceparent", "00-ab-cd-01"),)
    expected = Call("c", "m", 1, 99, "call_1", "weather__note", {"a": [1]}, 1_234, tracing)
    assert call_of(record(EVENT, HEADERS)) == expected
    assert msgspec.json.decode(msgspec.json.encode(expected), type=Call) == expected


@pytest.mark.parametrize(
    ("event", "headers"),
    [
        (b"", HEADERS),
        (b"no JSON", HEADERS),
        (TextDelta("t0", "x"), HEADERS),
        (msgspec.structs.replace(EVENT, problem="truncated"), HEADERS),
        (EVENT, [("tm-opened", b"soon")]),
    ],
)
def test_what_is_no_call_that_may_be_run_is_none(event: Event | bytes, headers: list[tuple[str, bytes]]) -> None:
    """Junk, other events, and calls that have a problem."""
    assert call_of(record(event, headers)) is None


def test_each_call_has_a_key_of_its_own() -> None:
    """The message's beginning is part of it, as names of messages come again; what the model wrote is not."""
    one = call_of(record(EVENT, HEADERS))
    again = call_of(record(msgspec.structs.replace(EVENT, arguments={}, seq=9), HEADERS))
    later = call_of(record(EVENT, [("tm-opened", b"100")]))
    other = call_of(record(msgspec.structs.replace(EVENT, id="call_2"), HEADERS))
    assert one
    assert again
    assert later
    assert other
    assert one.key == again.key
    assert one.repeat_key == again.repeat_key
    assert len({each.repeat_key for each in (one, later, other)}) == 3
