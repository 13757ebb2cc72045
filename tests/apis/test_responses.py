"""OpenAI's Responses."""

from typing import Any

import pytest

from tests.apis.bodies import GOOD, SCHEMA, URL, ask, param, refusal
from tokenmill.apis.ask import Ask
from tokenmill.apis.responses import RESPONSES


def test_a_body_with_everything() -> None:
    """Each field is where the neutral shape has it."""
    call = {"id": "k", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    assert ask("responses") == Ask(
        model="m",
        messages=[
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": "Hi"},
            {
                "role": "user",
                "content": [{"type": "text", "text": "?"}, {"type": "image_url", "image_url": {"url": URL}}],
            },
            {"role": "assistant", "content": "So:", "reasoning_content": "Hm", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "k", "content": "7"},
        ],
        tools=[{"type": "function", "function": {"name": "weather", "parameters": SCHEMA, "strict": False}}],
        tool_choice="auto",
        response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}},
        max_tokens=9,
        reasoning_effort="low",
        forwarded={"verbosity": "low"},
        stream=True,
        background=True,
        conversation="c",
    )


def test_a_body_with_the_least() -> None:
    """A string is what the user says; a stream tells counts of tokens."""
    asked = RESPONSES.read({"model": "m", "input": "Hi"})
    assert asked == Ask(model="m", messages=[{"role": "user", "content": "Hi"}], include_usage=True)


@pytest.mark.parametrize(
    ("changes", "field", "expected"),
    [
        ({"conversation": "d"}, "conversation", "d"),
        ({"conversation": "d", "metadata": {"conversation_id": "e"}}, "conversation", "d"),
        ({"conversation": None, "metadata": {"conversation_id": "e"}}, "conversation", "e"),
        ({"background": None}, "background", False),
        ({"text": None}, "forwarded", {}),
        ({"reasoning": {"effort": None}}, "reasoning_effort", None),
        ({"reasoning": {"effort": "none"}}, "thinks", False),
        ({"reasoning": {"effort": "low"}}, "thinks", True),
        ({"temperature": 1}, "temperature", 1.0),
        ({"include": []}, "stream", True),
    ],
)
def test_fields(changes: dict[str, Any], field: str, expected: Any) -> None:
    """What each becomes."""
    assert getattr(ask("responses", **changes), field) == expected


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"input": None}, "input"),
        ({"model": None}, "model"),
        ({"instructions": ["a"]}, "instructions"),
        ({"conversation": {}}, "conversation.id"),
        ({"conversation": ""}, "conversation"),
        ({"metadata": {"conversation_id": 3}}, "metadata.conversation_id"),
        ({"include": ["file_search_call.results"]}, "include[0]"),
        ({"reasoning": {"mode": "pro"}}, "reasoning.mode"),
        ({"reasoning": {"depth": 3}}, "reasoning.depth"),
        ({"text": {"format": 3}}, "text.format"),
        ({"truncation": "auto"}, "truncation"),
        ({"background": 1}, "background"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], place: str) -> None:
    """Where it stands."""
    assert param("responses", **changes) == place


@pytest.mark.parametrize("name", ["previous_response_id", "prompt", "truncation"])
def test_a_refusal_says_what_to_do_instead(name: str) -> None:
    """Nothing is kept between requests."""
    assert "whole conversation in `input`" in str(refusal("responses", **{name: "x"}))


def test_what_the_api_writes_can_be_sent_back() -> None:
    """Items of an answer as items of the next request."""
    output = GOOD["responses"]["input"][2:5]
    roles = [message["role"] for message in ask("responses", instructions=None, input=[*output, "x"][:3]).messages]
    assert roles == ["assistant"]
