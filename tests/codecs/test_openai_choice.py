"""One choice of a `chat.completion.chunk`, with every quirk of the servers that are known."""

from typing import Any

import pytest

from tokenmill.codecs import Chunk, ProviderPart
from tokenmill.codecs.openai_choice import content_of, finish_of, index_of, stop_of
from tokenmill.errors import Undecodable

CALL = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}
SIGNED = {"extra_content": {"google": {"thought_signature": "SIG"}}}


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        ({"content": "a"}, [Chunk(delta="a")]),
        ({"role": "assistant", "content": ""}, []),
        ({"role": "assistant", "content": None, "refusal": None, "audio": None}, []),
        ({"reasoning": "r"}, [Chunk(reasoning="r")]),
        ({"reasoning_content": "r", "content": None}, [Chunk(reasoning="r")]),
        ({"reasoning": "r", "reasoning_content": "r"}, [Chunk(reasoning="r")]),
        ({"reasoning": "", "reasoning_content": "r"}, [Chunk(reasoning="r")]),
        ({"reasoning": "r", "reasoning_content": None, "content": "a"}, [Chunk(reasoning="r", delta="a")]),
        ({"content": None, "tool_calls": [CALL]}, [Chunk(tool_calls=[CALL])]),
        ({"content": "a", "tool_calls": [CALL, CALL]}, [Chunk(delta="a", tool_calls=[CALL, CALL])]),
        ({"tool_calls": None}, []),
        ({"tool_calls": [None, CALL, "x"]}, [Chunk(tool_calls=[CALL])]),
        (
            {"function_call": {"name": "f", "arguments": "{"}},
            [Chunk(tool_calls=[{"index": 0, "function": {"name": "f", "arguments": "{"}}])],
        ),
        (
            {"content": "a", "tool_calls": [CALL | SIGNED, CALL | {"id": None} | SIGNED, CALL | {"extra_content": {}}]},
            [
                Chunk(part=ProviderPart("extra_content", SIGNED["extra_content"], "a")),
                Chunk(
                    delta="a",
                    tool_calls=[CALL | SIGNED, CALL | {"id": None} | SIGNED, CALL | {"extra_content": {}}],
                ),
            ],
        ),
        ({"refusal": "I can't"}, [Chunk(part=ProviderPart("refusal", "I can't"))]),
        (
            {"content": "a", "audio": {"id": "x"}, "annotations": [1]},
            [
                Chunk(delta="a"),
                Chunk(part=ProviderPart("audio", {"id": "x"})),
                Chunk(part=ProviderPart("annotations", [1])),
            ],
        ),
        ({"tool_calls": CALL}, [Chunk(tool_calls=[CALL])]),
        (
            {"content": [{"type": "text", "text": "a"}, "b", {"type": "text"}]},
            [
                Chunk(delta="a"),
                Chunk(delta="b"),
                Chunk(part=ProviderPart("text", {"type": "text"})),
            ],
        ),
        (
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "r"}, "s", 5]}]},
            [Chunk(reasoning="rs")],
        ),
        (
            {"content": [{"type": "thinking", "thinking": "r"}, {"type": "text", "text": "a"}], "tool_calls": [CALL]},
            [
                Chunk(reasoning="r"),
                Chunk(delta="a"),
                Chunk(tool_calls=[CALL]),
            ],
        ),
        ({"content": [None, {}, "", {"type": "text", "text": ""}, {"type": "thinking", "thinking": []}]}, []),
        (
            {"content": [{"type": "image_url", "image_url": "x"}, 5]},
            [
                Chunk(part=ProviderPart("image_url", {"type": "image_url", "image_url": "x"})),
                Chunk(part=ProviderPart("content", 5)),
            ],
        ),
    ],
    ids=str,
)
def test_what_a_delta_says(delta: dict[str, Any], expected: list[Chunk]) -> None:
    """Text, reasoning once, calls, and everything else under its own name; null and empty values are ignored."""
    assert content_of({"index": 0, "delta": delta}) == expected


def test_answers_of_other_endpoints_are_read() -> None:
    """One that is not streamed, although it was asked to be, and plain completions."""
    assert content_of({"message": {"role": "assistant", "content": "a", "tool_calls": [CALL]}}) == [
        Chunk(delta="a", tool_calls=[CALL])
    ]
    assert content_of({"text": "a", "logprobs": None}) == [Chunk(delta="a")]
    assert content_of({"text": 5}) == content_of({"text": ""}) == []


@pytest.mark.parametrize("choice", [{}, {"delta": None}, {"delta": {}}, {"delta": {"role": "assistant"}}])
def test_a_choice_may_say_nothing(choice: dict[str, Any]) -> None:
    """The first chunk, or a report of a filter."""
    assert content_of(choice) == []


@pytest.mark.parametrize(("choice", "index"), [({}, 0), ({"index": None}, 0), ({"index": 3}, 3)])
def test_the_index_is_0_where_it_is_missing(choice: dict[str, Any], index: int) -> None:
    """Servers with one choice leave it out."""
    assert index_of(choice) == index


@pytest.mark.parametrize("index", [-1, "0", 1.0, True, 2**60])
def test_what_is_no_index_is_refused(index: Any) -> None:
    """Its call could not be identified."""
    with pytest.raises(Undecodable):
        index_of({"index": index})


@pytest.mark.parametrize(
    ("choice", "reason"),
    [({}, None), ({"finish_reason": None}, None), ({"finish_reason": ""}, None), ({"finish_reason": "stop"}, "stop")],
)
def test_a_finish_reason_is_a_word(choice: dict[str, Any], reason: str | None) -> None:
    """Null on every chunk but one; some servers write an empty string."""
    assert finish_of(choice) == reason


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        ({"finish_reason": "stop"}, None),
        ({"finish_reason": "stop", "stop_reason": "END"}, "END"),
        ({"finish_reason": "stop", "matched_stop": "END"}, "END"),
        ({"finish_reason": "stop", "stop_reason": 151645}, None),
        ({"finish_reason": "stop", "stop_reason": None, "matched_stop": 2}, None),
        ({"finish_reason": "stop", "stop_reason": ""}, None),
        ({"finish_reason": "stop", "matched_stop": "NaN happened"}, None),
        ({"finish_reason": "repetition", "stop_reason": "repetition_detected"}, None),
        ({"stop_reason": "END"}, None),
    ],
    ids=str,
)
def test_the_text_at_which_it_stopped(choice: dict[str, Any], text: str | None) -> None:
    """As vLLM and SGLang send it; a number is that of the token with which the model ended by itself."""
    assert stop_of(choice) == text
