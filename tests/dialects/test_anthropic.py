"""Dialect `anthropic`; the SDK that reads it is in `tests/judges`."""

import json
from typing import Any

from tests.support.scenarios import SCENARIOS, rendered

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


def test_choices_are_messages_of_their_own() -> None:
    """The shape has one answer; the others can be told by their id."""
    scenario = SCENARIOS["text"]._replace(chunks=[{"delta": "a", "choice": 2}])
    (start, *_) = [json.loads(payload) for payload in rendered(scenario, "anthropic").payloads]
    assert start["message"]["id"] == "message-2"
