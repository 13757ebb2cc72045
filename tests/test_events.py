"""The closed event set on the wire."""

import msgspec
import pytest

from tokenmill.events import EVENT_TYPES, Event, Finish, TextDelta, TokenCounts, ToolCall, decode_event


def test_names_on_the_wire() -> None:
    """The names of the contract, all of them, each once."""
    assert [event.__struct_config__.tag for event in EVENT_TYPES] == [
        *(
            "message-start",
            "text-start",
            "text-delta",
            "text-end",
            "reasoning-start",
            "reasoning-delta",
            "reasoning-end",
        ),
        *("tool-input-start", "tool-input-delta", "argument-delta", "tool-input-end", "tool-call"),
        *("part", "error", "finish", "tool-progress", "tool-result"),
    ]


def test_what_is_absent_is_omitted() -> None:
    """Choice 0, no problem, no usage: no field."""
    assert msgspec.json.encode(ToolCall("c", "f", {})) == b'{"type":"tool-call","id":"c","name":"f","arguments":{}}'
    assert msgspec.json.encode(Finish("stop", seq=0, time=0)) == b'{"type":"finish","reason":"stop","seq":0,"time":0}'


def test_round_trip_with_envelope() -> None:
    """A consumer reads back what was written, envelope included."""
    event = TextDelta("t0", "é\u2028", conversation_id="c", message_id="m", choice=1, seq=5, time=7)
    assert decode_event(msgspec.json.encode(event)) == event
    assert event.type == "text-delta"


def test_what_is_no_event() -> None:
    """Another type is refused, and so are bytes that are not JSON."""
    for payload in (b'{"type":"nope"}', b"[DONE]", b'{"type":"finish"', b'"\\ud83d"', b"\xff"):
        with pytest.raises(msgspec.DecodeError):
            decode_event(payload)


@pytest.mark.parametrize(
    "value",
    [b'"\xff"', b"[" * 5_000 + b"]" * 5_000, b'["\\ud83d",' + b"[" * 5_000],
    ids=["no text", "bottomless", "half a pair"],
)
def test_what_is_no_text_or_bottomless_is_no_event(value: bytes) -> None:
    """Readers of a topic that anybody may write to catch one error."""
    with pytest.raises(msgspec.DecodeError):
        decode_event(b'{"type":"tool-call","id":"c","name":"f","arguments":{"a":%b}}' % value)


def test_half_a_surrogate_pair_can_be_read() -> None:
    """A model may write one in an argument; the worker writes it as an escape."""
    payload = b'{"type":"tool-call","id":"c","name":"f","arguments":{"a":"\\ud83d"},"seq":1}'
    assert decode_event(payload) == ToolCall("c", "f", {"a": "\ud83d"}, seq=1)


@pytest.mark.parametrize("event", EVENT_TYPES, ids=lambda event: event.__name__)
def test_an_event_has_the_type_that_is_on_the_wire(event: type[Event]) -> None:
    """A literal of its class, by which a union narrows."""
    assert event.type == event.__struct_config__.tag


def test_counts_of_tokens_that_are_not_known_are_left_out() -> None:
    """The provider's own counts are kept, too."""
    finish = Finish("stop", usage={"prompt_tokens": 3}, tokens=TokenCounts(input_tokens=3))
    assert msgspec.json.encode(finish) == (
        b'{"type":"finish","reason":"stop","usage":{"prompt_tokens":3},"tokens":{"input_tokens":3}}'
    )
    assert decode_event(msgspec.json.encode(finish)) == finish
