"""Lines of `parse --batch`."""

from typing import Any

import pytest

from tokenmill.replay import parse_batch


def text(events: list[dict[str, Any]]) -> str:
    """All visible text."""
    return "".join(event["delta"] for event in events if event["type"] == "text-delta")


def test_a_stream_is_parsed_to_its_end() -> None:
    """Ids are fixed, time stands still, and the end of the stream is included."""
    answer = parse_batch({"name": "x", "format": "hermes", "chunks": ["a<thi", "nk>b"]})
    assert answer["name"] == "x"
    assert [event["type"] for event in answer["events"]] == [
        "message-start",
        "text-start",
        "text-delta",
        "text-end",
        "reasoning-start",
        "reasoning-delta",
        "reasoning-end",
        "finish",
    ]
    for seq, event in enumerate(answer["events"]):
        place = {"conversation_id": "conversation", "message_id": "message", "seq": seq, "time": 0}
        assert place.items() <= event.items()


def nested(depth: int) -> dict[str, Any]:
    """Objects in objects."""
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize("chunks", [[], [""], None])
def test_an_empty_stream_is_an_empty_message(chunks: list[str] | None) -> None:
    """It starts and it ends."""
    answer = parse_batch({"name": "x", "format": "plain", "chunks": chunks})
    assert [event["type"] for event in answer["events"]] == ["message-start", "finish"]


def test_events_of_each_chunk_are_given_if_asked_for() -> None:
    """A list for each chunk, and one for the end; together they are the events."""
    line = {"name": "x", "format": "hermes", "chunks": ["a", "<tool", "b"], "per_chunk": True}
    answer = parse_batch(line)
    assert [text(events) for events in answer["events_per_chunk"]] == ["a", "", "<toolb", ""]
    assert [event for events in answer["events_per_chunk"] for event in events] == answer["events"]


def test_options_and_tools_are_those_of_the_line() -> None:
    """`open` says more than `format` and `tools`."""
    tool = {"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}}
    call = "<tool_call><function=f><parameter=a>1</parameter></function></tool_call>"
    line = {"name": "x", "format": "qwen3_xml", "tools": [tool], "open": {"model": "q"}, "chunks": [call]}
    events = parse_batch(line)["events"]
    assert events[0]["model"] == "q"
    (arguments,) = [event["arguments"] for event in events if event["type"] == "tool-call"]
    assert arguments == {"a": "1"}


def test_native_chunks_may_stand_between_texts() -> None:
    """They keep what they say but for the ids."""
    chunks = ["a", {"reasoning": "b", "message_id": "other", "conversation_id": "other"}, {"finish_reason": "length"}]
    events = parse_batch({"name": "x", "format": "plain", "chunks": chunks})["events"]
    assert {event["message_id"] for event in events} == {"message"}
    assert events[-1]["reason"] == "length"


def test_every_choice_is_ended() -> None:
    """Whatever the codec is: a native one is not told that nothing follows."""
    chunks = [{"delta": "a <tool"}, {"delta": "b <tool", "choice": 1}]
    events = parse_batch({"name": "x", "format": "hermes", "chunks": chunks})["events"]
    assert [text([event for event in events if event.get("choice", 0) == choice]) for choice in (0, 1)] == [
        "a <tool",
        "b <tool",
    ]
    assert [event.get("choice", 0) for event in events if event["type"] == "finish"] == [0, 1]


def test_chunks_go_through_the_codec() -> None:
    """Bytes that are not text are given in base64; what the codec still holds at the end comes out."""
    line = {
        "name": "x",
        "format": "plain",
        "codec": "text",
        "chunks": ["a", {"base64": "w6nDqQ=="}, {"base64": "ww=="}],
    }
    events = parse_batch(line)["events"]
    assert text(events) == "aéé\N{REPLACEMENT CHARACTER}"
    assert [event["type"] for event in events].count("finish") == 1


def test_what_cannot_be_used_is_named() -> None:
    """The rest of the stream goes on."""
    answer = parse_batch({"name": "x", "format": "plain", "chunks": ["a", 5, "b"]})
    assert text(answer["events"]) == "ab"
    assert answer["rejected"] == ["not a native chunk: Expected `object`, got `int`"]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"format": "nonsense"}, "unknown format"),
        ({"format": "plain", "open": {"colour": "red"}}, "unknown option"),
        ({"format": "plain", "codec": "nonsense"}, "unknown codec"),
        ({"format": "plain", "dialect": "nonsense"}, "unknown dialect"),
        ({"function": "nonsense", "input": [1]}, "unknown function"),
        ({"function": "qwen_web_parameters", "input": ["", 2**70]}, "qwen_web_parameters: "),
        ({"codec": "openai", "chunks": [{"base64": "!"}]}, "chunk 1: not base64: "),
        ({"codec": "openai", "chunks": ["[DONE]", {"base64": 1}]}, "chunk 2: not base64: "),
        ({"chunks": [{"base64": "é"}]}, "chunk 1: not base64: "),
        ({"chunks": [{"usage": nested(5_000)}]}, "chunk 1: can't be written as JSON: "),
        ({"open": {"min_delta_chars": 2**70}}, "the options hold "),
        ({"open": {"tools": [{"function": {"name": "f", "parameters": nested(5_000)}}]}}, "the options hold "),
    ],
)
def test_a_line_that_is_wrong_is_answered_with_an_error(wrong: dict[str, Any], why: str) -> None:
    """The other lines of the batch are answered all the same."""
    answer = parse_batch({"name": "x", "chunks": ["a"], **wrong})
    assert answer.keys() == {"name", "error"}
    assert why in answer["error"]


def test_options_of_any_depth_are_taken_or_refused() -> None:
    """Whoever keeps them goes a little deeper than whoever looked at them before, and the stack may end in between."""
    for depth in range(850, 1_000):
        tool = {"type": "function", "function": {"name": "f", "parameters": nested(depth)}}
        answer = parse_batch({"name": "x", "tools": [tool], "chunks": ["a"]})
        assert "events" in answer or "nested too deep" in answer["error"]


def test_a_provider_tells_the_model_and_opens_answers_that_bring_nothing() -> None:
    """An option in the line's place is only a default; the finish reason of an empty answer is heard."""
    first = {"id": "a", "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}
    last = {
        "id": "a",
        "model": "m",
        "choices": [{"index": index, "delta": {}, "finish_reason": "length"} for index in (0, 1)],
    }
    line = {"name": "x", "codec": "openai", "open": {"model": "other"}, "chunks": [first, last, "[DONE]"]}
    events = parse_batch(line)["events"]
    assert [(event["type"], event.get("choice", 0)) for event in events] == [
        ("message-start", 0),
        ("message-start", 1),
        ("finish", 0),
        ("finish", 1),
    ]
    assert [event["model"] for event in events[:2]] == ["m", "m"]
    assert {event["reason"] for event in events[2:]} == {"length"}
