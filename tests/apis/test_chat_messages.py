"""Messages of chat completions."""

from typing import Any

import pytest

from tests.apis.bodies import URL, ask, refusal


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": ""},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": "", "reasoning": "Hm"},
        {"role": "assistant", "refusal": "No"},
        {"role": "assistant", "content": "a", "tool_calls": []},
        {"role": "assistant", "tool_calls": [{"id": "k", "function": {"name": "f", "arguments": "{"}}]},
        {"role": "tool", "tool_call_id": "k", "content": [{"type": "image_url", "image_url": {"url": URL}}]},
        {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {}}], "x": {"y": 1}},
    ],
)
def test_messages_stay_as_they_are(message: dict[str, Any]) -> None:
    """Members that servers know, too; null is nothing."""
    assert ask("chat", messages=[{**message, "audio": None}]).messages == [message]


@pytest.mark.parametrize("message", [{"role": "tool", "tool_call_id": "k"}, {"role": "assistant"}])
@pytest.mark.parametrize("content", [None, [], ""])
def test_an_answer_may_be_empty(content: Any, message: dict[str, Any]) -> None:
    """Templates read a text, however a client writes that there is none."""
    assert ask("chat", messages=[message | {"content": content}]).messages == [message | {"content": ""}]


def test_an_empty_list_beside_a_call_is_an_empty_text() -> None:
    """Null stays absent: the call stands in the place of a content."""
    call = {"role": "assistant", "tool_calls": [{"id": "k", "function": {"name": "f", "arguments": "{}"}}]}
    assert ask("chat", messages=[call | {"content": []}]).messages == [call | {"content": ""}]
    assert ask("chat", messages=[call | {"content": None}]).messages == [call]


def test_a_call_with_a_text_is_the_function_s_that_the_model_called() -> None:
    """Else it would learn from its own history to call what it does not have."""
    custom = {"id": "k", "type": "custom", "custom": {"name": "patch", "input": 'a "b"'}, "extra_content": {"x": 1}}
    other = {"id": "o", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    (message,) = ask("chat", messages=[{"role": "assistant", "tool_calls": [custom, other]}]).messages
    function = {"name": "patch", "arguments": r'{"input":"a \"b\""}'}
    expected = {"id": "k", "type": "function", "function": function, "extra_content": {"x": 1}}
    assert message["tool_calls"] == [expected, other]


@pytest.mark.parametrize(
    ("message", "place", "code"),
    [
        ("Hi", "", "invalid_type"),
        ({"content": "a"}, ".role", "missing_required_parameter"),
        ({"role": "function", "name": "f", "content": "a"}, ".role", "invalid_value"),
        ({"role": "robot", "content": "a"}, ".role", "invalid_value"),
        ({"role": "user"}, ".content", "missing_required_parameter"),
        ({"role": "user", "content": 3}, ".content", "invalid_type"),
        ({"role": "user", "content": []}, ".content", "invalid_value"),
        ({"role": "user", "content": "a", "name": 3}, ".name", "invalid_type"),
        ({"role": "user", "content": ["a"]}, ".content[0]", "invalid_type"),
        ({"role": "user", "content": [{"type": "input_audio"}]}, ".content[0].type", "unsupported_value"),
        ({"role": "user", "content": [{"type": "file"}]}, ".content[0].type", "unsupported_value"),
        ({"role": "user", "content": [{"type": "text"}]}, ".content[0].text", "missing_required_parameter"),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": URL}]},
            ".content[0].image_url",
            "invalid_type",
        ),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///a"}}]},
            ".content[0].image_url.url",
            "invalid_value",
        ),
        (
            {"role": "system", "content": [{"type": "image_url", "image_url": {"url": URL}}]},
            ".content[0].type",
            "unsupported_value",
        ),
        ({"role": "assistant", "content": 3}, ".content", "invalid_type"),
        ({"role": "assistant", "content": "a", "function_call": {}}, ".function_call", "unsupported_parameter"),
        ({"role": "assistant", "content": "a", "audio": {"id": "x"}}, ".audio", "unsupported_parameter"),
        ({"role": "assistant", "content": "a", "reasoning_content": 3}, ".reasoning_content", "invalid_type"),
        ({"role": "assistant", "tool_calls": [{"id": "k"}]}, ".tool_calls[0].function", "missing_required_parameter"),
        (
            {"role": "assistant", "tool_calls": [{"id": "k", "type": "custom"}]},
            ".tool_calls[0].custom",
            "missing_required_parameter",
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "k", "type": "custom", "custom": {"name": "f", "input": 3}}]},
            ".tool_calls[0].custom.input",
            "invalid_type",
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "k", "type": "mcp"}]},
            ".tool_calls[0].type",
            "unsupported_value",
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "k", "function": {"name": "f", "arguments": {}}}]},
            ".tool_calls[0].function.arguments",
            "invalid_type",
        ),
        ({"role": "user", "content": "a", "tool_calls": 1}, ".tool_calls", "invalid_type"),
        (
            {"role": "system", "content": "a", "tool_calls": [{"id": "k"}]},
            ".tool_calls[0].function",
            "missing_required_parameter",
        ),
        ({"role": "user", "content": "a", "tool_call_id": []}, ".tool_call_id", "invalid_type"),
        ({"role": "user", "content": "", "refusal": 5}, ".refusal", "invalid_type"),
        ({"role": "tool", "content": "a"}, ".tool_call_id", "missing_required_parameter"),
        ({"role": "tool", "tool_call_id": "k", "content": 0}, ".content", "invalid_type"),
    ],
)
def test_what_is_refused(message: Any, place: str, code: str) -> None:
    """Where it stands, with OpenAI's word for it."""
    refused = refusal("chat", messages=[{"role": "user", "content": "a"}, message])
    assert (refused.param, refused.code) == (f"messages[1]{place}", code)


def test_the_older_role_says_what_to_do() -> None:
    """Answers of functions are those of tools now."""
    assert "the role tool" in str(refusal("chat", messages=[{"role": "function", "content": "a"}]))
