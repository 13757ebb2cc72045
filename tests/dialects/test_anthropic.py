"""Dialect `anthropic`; the SDK that reads it is in `tests/judges`."""

import json
from typing import Any

import pytest

from tests.support.scenarios import SCENARIOS, Scenario, rendered
from tokenmill.dialects import Envelope
from tokenmill.dialects.anthropic import ANTHROPIC, AnthropicState
from tokenmill.events import AnyEvent, Part, ReasoningDelta, ReasoningEnd, TextDelta

BEGIN = "content_block_start"
DELTA = "content_block_delta"


def frames(name: str, **options: Any) -> list[dict[str, Any]]:
    return [json.loads(payload) for payload in rendered(SCENARIOS[name], "anthropic", **options).payloads]


def test_a_message_with_everything() -> None:
    """Every event of the shape, in its order, each with what a client needs of it."""
    start, *middle, delta, stop = frames("reasoning, text and a call")
    assert start["type"] == "message_start"
    assert start["message"] | {"usage": None} == {
        "id": "message",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "some-model",
        "stop_reason": None,
        "stop_sequence": None,
        "usage": None,
    }
    assert middle[:4] == [
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": DELTA, "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm"}},
        {"type": DELTA, "index": 0, "delta": {"type": "thinking_delta", "thinking": "m."}},
        {"type": "content_block_stop", "index": 0},
    ]
    assert middle[4:7] == [
        {"type": BEGIN, "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": DELTA, "index": 1, "delta": {"type": "text_delta", "text": "It is: "}},
        {"type": "content_block_stop", "index": 1},
    ]
    use, arguments, end = middle[7:]
    assert use["index"] == arguments["index"] == end["index"] == 2
    assert use["content_block"] | {"id": ""} == {"type": "tool_use", "id": "", "name": "get_weather", "input": {}}
    assert json.loads(arguments["delta"]["partial_json"]) == {"city": 'Zürich "🌧"', "days": 3}
    assert delta == {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"input_tokens": 5, "output_tokens": 7},
    }
    assert stop == {"type": "message_stop"}


def test_tokens_of_thinking_are_told_where_they_were_counted() -> None:
    """Within those of the answer, as Anthropic counts them."""
    counts = {"prompt_tokens": 5, "completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 4}}
    said = rendered(Scenario([{"delta": "a"}, {"finish_reason": "stop", "usage": counts}]), "anthropic").payloads
    usage = json.loads(said[-2])["usage"]
    assert usage == {"input_tokens": 5, "output_tokens": 7, "output_tokens_details": {"thinking_tokens": 4}}


def test_calls_side_by_side_have_blocks_of_their_own() -> None:
    """The first grows in its block, with text between; the second comes whole when it is complete."""
    growing = frames("calls side by side", stream_tool_input=True)
    pieces: dict[int, list[str]] = {}
    for frame in growing:
        if frame["type"] == DELTA:
            pieces.setdefault(frame["index"], []).append(next(iter(list(frame["delta"].values())[1:])))
    assert pieces == {0: ["Both:"], 1: ["{", '"city": "Oslo"', "}"], 2: [" now"], 3: ['{"city":"Rome"}']}
    assert [frame["index"] for frame in growing if frame["type"] == "content_block_stop"] == [0, 1, 2, 3]


def test_long_arguments_come_in_pieces() -> None:
    """Each fits into a record of an output topic, however JSON inside of JSON is escaped."""
    scenario = SCENARIOS["a long argument"]
    sizes = [len(payload) for payload in rendered(scenario, "anthropic").payloads]
    assert sum(sizes) > 200_000
    assert max(sizes) < 200_000


def test_words_of_the_provider_stay_where_the_shape_has_them() -> None:
    """A stop sequence is one; other words are read as the native reason that they stand for."""
    for word, expected in (
        ("stop_sequence", "stop_sequence"),
        ("eos", "end_turn"),
        ("max_output_tokens", "max_tokens"),
    ):
        scenario = SCENARIOS["text"]._replace(chunks=[{"delta": "a"}, {"finish_reason": word}])
        *_, delta, _stop = [json.loads(payload) for payload in rendered(scenario, "anthropic").payloads]
        assert delta["delta"]["stop_reason"] == expected


@pytest.mark.parametrize("word", ["stop_sequence", "stop"])
def test_the_text_of_a_stop_sequence_is_said(word: str) -> None:
    """Whatever the provider calls the reason."""
    scenario = SCENARIOS["text"]._replace(chunks=[{"delta": "a"}, {"finish_reason": word, "stop_sequence": "END"}])
    *_, delta, _stop = [json.loads(payload) for payload in rendered(scenario, "anthropic").payloads]
    assert delta["delta"] == {"stop_reason": "stop_sequence", "stop_sequence": "END"}


def test_a_call_goes_before_the_words_of_the_provider() -> None:
    """Its server may not know that the text is one, and agents run tools only where the reason is `tool_use`."""
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    end = {"finish_reason": "stop_sequence", "stop_sequence": "END"}
    scenario = SCENARIOS["text"]._replace(chunks=[{"delta": call}, end])
    *_, delta, _stop = [json.loads(payload) for payload in rendered(scenario, "anthropic").payloads]
    assert delta["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}


def of(*events: AnyEvent) -> list[dict[str, Any]]:
    """The frames of the blocks of these events."""
    state, envelope = AnthropicState(), Envelope("c", "m", 0, 0)
    every = [
        payload for seq, event in enumerate(events) for payload in ANTHROPIC.encode(state, envelope, event, seq, 0)
    ]
    return [json.loads(payload) for payload in every]


def begun(index: int, kind: str) -> dict[str, Any]:
    return {"type": BEGIN, "index": index, "content_block": {"type": kind, kind: ""}}


def delta(index: int, kind: str, value: Any, of_kind: str = "") -> dict[str, Any]:
    return {"type": DELTA, "index": index, "delta": {"type": f"{of_kind or kind}_delta", kind: value}}


def stopped(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def thinking(index: int) -> dict[str, Any]:
    return {"type": BEGIN, "index": index, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}


def test_each_signature_is_of_a_block_of_its_own() -> None:
    """A client sends each back as it came, with its thinking."""
    events: list[AnyEvent] = [
        ReasoningDelta("r", "one"),
        Part("signature", "1"),
        ReasoningDelta("r", "two"),
        Part("signature", "2"),
    ]
    expected = [
        frame
        for index, text in enumerate(("one", "two"))
        for frame in (
            thinking(index),
            delta(index, "thinking", text),
            delta(index, "signature", str(index + 1)),
            stopped(index),
        )
    ]
    assert of(*events, ReasoningEnd("r")) == expected


def test_thinking_that_is_not_shown_has_its_signature() -> None:
    """In an empty block: without it a client could not go on behind the results of tools."""
    found = of(TextDelta("t", "a"), Part("signature", "1"), TextDelta("t", "b"))
    signed = [thinking(1), delta(1, "signature", "1"), stopped(1)]
    text = [begun(0, "text"), delta(0, "text", "a"), stopped(0)]
    assert found == [*text, *signed, begun(2, "text"), delta(2, "text", "b")]
    assert of(Part("signature", "")) == of(Part("signature", 1)) == []


def test_citations_are_of_the_text_before_them() -> None:
    """Without a text there is no place for them; what another provider calls so may be no object."""
    citation = {"type": "char_location", "cited_text": "x"}
    found = of(TextDelta("t", "a"), Part("citation", citation), Part("citation", "x"))
    assert found[2:] == [delta(0, "citation", citation, "citations")]
    assert of(Part("citation", citation)) == of(ReasoningDelta("r", "a"), Part("citation", citation))[2:] == []


def test_choices_are_messages_of_their_own() -> None:
    """The shape has one answer; the others can be told by their id."""
    scenario = SCENARIOS["text"]._replace(chunks=[{"delta": "a", "choice": 2}])
    (start, *_) = [json.loads(payload) for payload in rendered(scenario, "anthropic").payloads]
    assert start["message"]["id"] == "message-2"
