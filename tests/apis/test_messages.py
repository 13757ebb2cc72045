"""Anthropic's Messages."""

from typing import Any

import pytest

from tests.apis.bodies import SCHEMA, URL, ask, param
from tokenmill.apis.ask import Ask
from tokenmill.apis.messages import MESSAGES

TOOL: dict[str, Any] = {"name": "weather", "input_schema": SCHEMA}
CLEAR = {"type": "clear_thinking_20251015", "keep": "all"}


def image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def test_a_body_with_everything() -> None:
    """Each field is where the neutral shape has it."""
    call = {"id": "k", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}
    assert ask("messages") == Ask(
        model="m",
        messages=[
            {"role": "system", "content": "Be short."},
            {
                "role": "user",
                "content": [image("data:image/png;base64,QQ=="), image(URL), {"type": "text", "text": "What is it?"}],
            },
            {"role": "assistant", "content": "So: look.", "reasoning_content": "Hm", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "k", "content": "Error: gone"},
            {"role": "user", "content": "Again"},
        ],
        tools=[{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}],
        tool_choice="required",
        parallel_tool_calls=False,
        max_tokens=9,
        stop=["a"],
        forwarded={"top_k": 5},
        stream=True,
    )


def test_a_body_with_the_least() -> None:
    """A stream tells counts of tokens."""
    messages = [{"role": "user", "content": "Hi"}]
    asked = MESSAGES.read({"model": "m", "max_tokens": 1, "messages": messages})
    assert asked == Ask(model="m", messages=messages, max_tokens=1)


@pytest.mark.parametrize(
    ("changes", "field", "expected"),
    [
        ({"thinking": {"type": "disabled"}}, "reasoning_effort", None),
        ({"thinking": {"type": "disabled"}}, "thinks", False),
        ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, "thinks", True),
        ({"thinking": {"type": "adaptive", "display": "summarized"}}, "thinks", True),
        ({"thinking": {"type": "adaptive", "display": "omitted"}}, "thinks", True),
        ({"thinking": {"type": "between_tools"}}, "thinks", True),
        ({"thinking": None}, "thinks", True),
        ({"output_config": {"effort": "low"}, "thinking": {"type": "disabled"}}, "reasoning_effort", "low"),
        ({"output_config": {"effort": "low"}, "thinking": {"type": "disabled"}}, "thinks", False),
        ({"tool_choice": {"type": "auto", "disable_parallel_tool_use": False}}, "parallel_tool_calls", True),
        ({"tool_choice": {"type": "auto"}}, "parallel_tool_calls", None),
        ({"stop_sequences": None}, "stop", []),
        ({"top_k": None}, "forwarded", {}),
        ({"metadata": {"conversation_id": "c"}}, "conversation", "c"),
        ({"system": "a"}, "messages", [{"role": "system", "content": "a"}]),
        ({"temperature": 1}, "temperature", 1.0),
        ({"context_management": {"edits": []}}, "forwarded", {"top_k": 5}),
        ({"context_management": {"edits": [CLEAR]}}, "forwarded", {"top_k": 5}),
        ({"tools": [TOOL | {"input_examples": [{"city": "Oslo"}]}]}, "stream_tool_input", False),
        ({"tools": [TOOL, TOOL | {"eager_input_streaming": True}]}, "stream_tool_input", True),
        ({"tools": [TOOL | {"eager_input_streaming": False}]}, "stream_tool_input", False),
        ({"tools": [TOOL | {"eager_input_streaming": True}], "stream": False}, "stream_tool_input", False),
    ],
)
def test_fields(changes: dict[str, Any], field: str, expected: Any) -> None:
    """What each becomes."""
    found = getattr(ask("messages", **changes), field)
    assert (found[:1] if field == "messages" else found) == expected


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 1.0}, "max_tokens"),
        ({"temperature": 1.5}, "temperature"),
        ({"top_k": -1}, "top_k"),
        ({"thinking": {"type": "on"}}, "thinking.type"),
        ({"thinking": {"budget_tokens": 9}}, "thinking.type"),
        ({"context_management": {"edits": [CLEAR, {"type": "compact_20260112"}]}}, "context_management.edits[1].type"),
        ({"context_management": {"edits": 3}}, "context_management.edits"),
        ({"context_management": {"compact": {}}}, "context_management.compact"),
        ({"tools": [TOOL | {"eager_input_streaming": 1}]}, "tools[0].eager_input_streaming"),
        ({"stop_sequences": "a"}, "stop_sequences"),
        ({"metadata": {"user_id": 3}}, "metadata.user_id"),
        ({"output_config": {"effort": 3}}, "output_config.effort"),
        ({"mcp_servers": [{}]}, "mcp_servers"),
        ({"n": 2}, "n"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], place: str) -> None:
    """Where it stands."""
    assert param("messages", **changes) == place
