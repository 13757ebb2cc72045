"""Dialect `native`."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from tokenmill.dialects import Envelope
from tokenmill.dialects.native import NATIVE
from tokenmill.events import (
    EVENT_TYPES,
    ArgumentDelta,
    Error,
    Event,
    Finish,
    MessageStart,
    Part,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolProgress,
    ToolResult,
    decode_event,
)

texts = st.text(st.characters(codec="utf-8"))
numbers = st.integers(0, 2**53)


def encode(event: Event, envelope: Envelope, seq: int | None, time: int) -> bytes:
    """The one payload of an event."""
    (payload,) = NATIVE.encode(None, envelope, event, seq, time)
    return payload


def json_values(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Any JSON value."""
    return st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=5)


values = json_values(st.none() | st.booleans() | texts | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False))
objects = st.dictionaries(texts, values, max_size=3)
optional_texts = texts | st.just(UNSET)
ENCODINGS = st.sampled_from(["json", "xml", "python", "text"])
STRATEGIES: dict[type[Event], st.SearchStrategy[Event]] = {
    MessageStart: st.builds(MessageStart, model=texts, format=texts | st.lists(texts)),
    ToolInputStart: st.builds(ToolInputStart, id=texts, name=texts, encoding=ENCODINGS),
    ArgumentDelta: st.builds(ArgumentDelta, id=texts, argument=texts, delta=texts),
    ToolCall: st.builds(ToolCall, id=texts, name=texts, arguments=objects, repaired=st.booleans()),
    Part: st.builds(Part, kind=texts, value=values, id=optional_texts),
    Error: st.builds(Error, code=st.just("limit"), message=texts, id=optional_texts, raw=optional_texts),
    Finish: st.builds(Finish, reason=st.just("stop"), raw_reason=optional_texts, usage=objects | st.just(UNSET)),
    ToolProgress: st.builds(ToolProgress, id=texts, name=texts, progress=numbers, total=numbers, message=texts),
    ToolResult: st.builds(ToolResult, id=texts, name=texts, result=values, elapsed_ms=numbers),
    **{kind: st.builds(kind, id=texts) for kind in (TextStart, TextEnd, ReasoningStart, ReasoningEnd, ToolInputEnd)},
    **{kind: st.builds(kind, id=texts, delta=texts) for kind in (TextDelta, ReasoningDelta, ToolInputDelta)},
}


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=[kind.__name__ for kind in EVENT_TYPES])
@given(st.data())
def test_the_bytes_are_those_of_the_whole_struct(kind: type[Event], data: st.DataObject) -> None:
    """Putting the envelope in beside the event gives what msgspec writes of both together."""
    event = data.draw(STRATEGIES[kind])
    conversation, message = data.draw(texts.filter(bool)), data.draw(texts.filter(bool))
    choice, seq, time = data.draw(st.integers(0, 3)), data.draw(numbers), data.draw(numbers)
    whole = msgspec.structs.replace(
        event, conversation_id=conversation, message_id=message, choice=choice, seq=seq, time=time
    )
    payload = encode(event, Envelope(conversation, message, choice, 0), seq, time)
    assert payload == msgspec.json.encode(whole)
    assert decode_event(payload).type == event.type


def test_an_event_of_lost_state_has_no_seq() -> None:
    """There is nothing to count from."""
    payload = encode(TextDelta(id="t", delta="a"), Envelope("c", "m", 0, 0), None, 7)
    assert payload == b'{"type":"text-delta","id":"t","delta":"a","conversation_id":"c","message_id":"m","time":7}'


def test_what_msgspec_refuses_is_written_all_the_same() -> None:
    """P7: a model may write any number and any escape into its arguments."""
    event = ToolCall(id="k", name="f", arguments={"a": [2**64, "\ud800"]})
    payload = json.loads(encode(event, Envelope("c", "m", 0, 0), 3, 7))
    assert payload == {
        "type": "tool-call",
        "id": "k",
        "name": "f",
        "arguments": {"a": [2**64, "\ud800"]},
        "conversation_id": "c",
        "message_id": "m",
        "seq": 3,
        "time": 7,
    }
