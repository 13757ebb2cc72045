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


NOW: dict[str, Any] = {"type": "function", "name": "now"}
SEARCH: dict[str, Any] = {"type": "web_search", "external_web_access": True}


@pytest.mark.parametrize("kind", ["web_search", "web_search_2025_08_26", "web_search_preview"])
def test_a_search_beside_the_clients_tools_is_left_out(kind: str) -> None:
    """Codex declares one unless it is told not to; a model that has none does not search."""
    search = SEARCH | {"type": kind}
    for others in ([NOW], [{"type": "namespace", "name": "x", "tools": [NOW]}]):
        tools = [ask("responses", tools=each, tool_choice=None).tools for each in ([search, *others], others)]
        assert tools[0] == tools[1] != []


def test_a_search_that_a_client_counts_on_is_refused() -> None:
    """It has no other tool, chooses this one, or asks for what it found."""
    assert param("responses", tools=[SEARCH], tool_choice=None) == "tools[0].type"
    assert param("responses", tools=[SEARCH, {"type": "namespace", "name": "x", "tools": []}]) == "tools[0].type"
    chosen: list[Any] = [{"type": "web_search"}, {"type": "allowed_tools", "mode": "auto", "tools": [SEARCH]}]
    for choice in chosen:
        assert param("responses", tools=[NOW, SEARCH], tool_choice=choice).startswith("tool_choice.")
    found = ["web_search_call.action.sources"]
    assert param("responses", tools=[NOW, SEARCH], tool_choice=None, include=found) == "include[0]"


def test_what_the_api_writes_can_be_sent_back() -> None:
    """Items of an answer as items of the next request."""
    output = GOOD["responses"]["input"][2:5]
    roles = [message["role"] for message in ask("responses", instructions=None, input=[*output, "x"][:3]).messages]
    assert roles == ["assistant"]
