"""Calls as they stand on the topic."""

from typing import get_args

import msgspec
import pytest

from tokenmill.errors import RecordError
from tokenmill.events import Event, Finish, Problem, TextDelta, ToolCall
from tokenmill.limits import KEY_BYTES, PAYLOAD_BYTES
from tokenmill.records import InputRecord
from tokenmill.tools.call import Call, read_calls

EVENT = ToolCall("call_1", "weather__note", {"a": [1]}, conversation_id="c", message_id="m", choice=1, seq=4, time=7)

HEADERS = [("tm-message-id", b"m"), ("tm-opened", b"99"), ("traceparent", b"00-ab-cd-01")]


def record(event: Event | bytes, headers: list[tuple[str, bytes]]) -> InputRecord:
    value = event if isinstance(event, bytes) else msgspec.json.encode(event)
    return InputRecord("tool-calls", 2, 5, 1_234, b"c", value, headers)


def test_a_record_is_a_call_of_its_message() -> None:
    """With the time of its record, and what traces it."""
    tracing = (("traceparent", "00-ab-cd-01"),)
    expected = Call("c", "m", 1, 99, "call_1", "weather__note", {"a": [1]}, 1_234, tracing)
    assert read_calls(record(EVENT, HEADERS)) == expected
    assert msgspec.json.decode(msgspec.json.encode(expected), type=Call) == expected


@pytest.mark.parametrize(
    ("event", "headers"),
    [
        (b"", HEADERS),
        (b"no JSON", HEADERS),
        (TextDelta("t0", "x"), HEADERS),
        (Finish("stop"), HEADERS),
        *((msgspec.structs.replace(EVENT, problem=problem), HEADERS) for problem in get_args(Problem)),
        (EVENT, [("tm-opened", b"soon")]),
        (msgspec.json.encode(EVENT).replace(b"call_1", b"\xff"), HEADERS),
        (msgspec.json.encode(EVENT).replace(b"[1]", b"[" * 5_000 + b"]" * 5_000), HEADERS),
        (msgspec.json.encode(Finish("cancelled", conversation_id="X")).replace(b"X", b"\\ud83d"), HEADERS),
    ],
)
def test_what_is_no_call_that_may_be_run_is_none(event: Event | bytes, headers: list[tuple[str, bytes]]) -> None:
    """Junk, other events, and calls that have a problem."""
    assert read_calls(record(event, headers)) is None


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (msgspec.json.encode(EVENT).replace(b"[1]", b'"\\ud83d"'), "half a surrogate pair"),
        (msgspec.json.encode(EVENT).replace(b"call_1", b"\\ud83d"), "half a surrogate pair"),
        (msgspec.structs.replace(EVENT, id="x" * (KEY_BYTES + 1)), "a name has 1,025 bytes"),
        (msgspec.structs.replace(EVENT, name="é" * KEY_BYTES), "a name has 2,048 bytes"),
        (msgspec.structs.replace(EVENT, conversation_id="x" * (KEY_BYTES + 1)), "a name has"),
        (msgspec.structs.replace(EVENT, message_id="x" * (KEY_BYTES + 1)), "a name has"),
        (msgspec.structs.replace(EVENT, arguments={"a": "x" * PAYLOAD_BYTES}), "limits.output_bytes allows"),
        (msgspec.json.encode(EVENT).replace(b"[1]", b"[1e15%b]" % (b",1e15" * 60_000)), "limits.output_bytes allows"),
    ],
)
def test_a_call_that_no_worker_could_have_written_says_why(event: Event | bytes, why: str) -> None:
    """Records of it would be too long for their topics, or could not be encoded."""
    with pytest.raises(RecordError, match=why):
        read_calls(record(event, HEADERS))


def test_a_character_that_is_escaped_is_one_like_others() -> None:
    """As those that JSON can't hold otherwise."""
    event = msgspec.structs.replace(EVENT, arguments={"a": "\x01"})
    call = read_calls(record(event, HEADERS))
    assert isinstance(call, Call)
    assert call.arguments == {"a": "\x01"}


def test_each_call_has_a_key_of_its_own() -> None:
    """The message's beginning is part of it, as names of messages come again; what the model wrote is not."""
    one = read_calls(record(EVENT, HEADERS))
    again = read_calls(record(msgspec.structs.replace(EVENT, arguments={}, seq=9), HEADERS))
    later = read_calls(record(EVENT, [("tm-opened", b"100")]))
    other = read_calls(record(msgspec.structs.replace(EVENT, id="call_2"), HEADERS))
    assert isinstance(one, Call)
    assert isinstance(again, Call)
    assert isinstance(later, Call)
    assert isinstance(other, Call)
    assert one.key == again.key
    assert one.repeat_key == again.repeat_key
    assert len({each.repeat_key for each in (one, later, other)}) == 3


def test_a_cancelled_answer_is_known_by_what_its_calls_are() -> None:
    """Each choice is an answer of its own."""
    call = read_calls(record(EVENT, HEADERS))
    assert isinstance(call, Call)
    end = Finish("cancelled", conversation_id="c", message_id="m", choice=1)
    assert read_calls(record(end, HEADERS)) == call.answer
    assert read_calls(record(msgspec.structs.replace(end, choice=0), HEADERS)) != call.answer
