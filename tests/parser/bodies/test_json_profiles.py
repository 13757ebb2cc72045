"""Where profiles find calls, and that a name found in the beginning is the one."""

import json
from typing import Any

import pytest

from tokenmill.parser.bodies.json_profiles import PROFILES, any_call, object_of

NESTED = '{"tool": {"function": "f", "parameters": {"a": 1}}}'
NESTED_NAME = '{"tool" : {"function": {"name": "f"}, "arguments": {"a": 1}}}'
FUNCTION = '{"function": {"name": "f", "arguments": {"a": 1}}}'
CALLS = '{"tool_calls": [{"id": "x", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}]}'
TOOLS = '{"tools": [{"name": "f", "parameters": {"a": 1}}]}'
PLAIN = '{"name": "f", "arguments": {"a": 1}}'
ARGS = '{"name": "f", "args": {"a": 1}}'
LIST = f"[{ARGS}, {ARGS}]"


def calls_of(profile: str, text: str) -> list[tuple[str, Any]]:
    """Calls of a text."""
    return list(PROFILES[profile].calls(json.loads(text)))


@pytest.mark.parametrize(
    ("profile", "text", "expected"),
    [
        ("default", NESTED, [("f", {"a": 1})]),
        ("default", NESTED_NAME, [("f", {"a": 1})]),
        *(("default", text, []) for text in (FUNCTION, CALLS, TOOLS, PLAIN, ARGS, LIST)),
        ("openai", NESTED, [("f", {"a": 1})]),
        ("openai", NESTED_NAME, [("f", None)]),
        *(("openai", text, [("f", {"a": 1})]) for text in (FUNCTION, CALLS, TOOLS, PLAIN)),
        ("openai", LIST, [("f", None), ("f", None)]),
        *(("gemini", text, []) for text in (NESTED, NESTED_NAME, FUNCTION, CALLS, TOOLS)),
        ("gemini", PLAIN, [("f", None)]),
        ("gemini", LIST, [("f", {"a": 1}), ("f", {"a": 1})]),
        *((profile, text, []) for profile in PROFILES for text in ("[]", "{}", "1", '{"name": ""}', '{"name": 1}')),
        *((profile, text, []) for profile in PROFILES for text in ('[1, {"x": 1}]', '{"tool": "f"}', '{"tool": {}}')),
    ],
)
def test_calls(profile: str, text: str, expected: list[tuple[str, Any]]) -> None:
    """Each profile knows its own places and no others."""
    assert calls_of(profile, text) == expected


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        ("default", NESTED),
        ("default", NESTED_NAME),
        *(("openai", text) for text in (NESTED, NESTED_NAME, FUNCTION, CALLS, TOOLS, PLAIN, LIST)),
        *(("gemini", text) for text in (ARGS, LIST)),
    ],
)
def test_heads(profile: str, text: str) -> None:
    """A name that comes first is found as soon as it is complete."""
    head = PROFILES[profile].head
    found = next(found for end in range(len(text)) if (found := head.match(text[:end])))
    assert found["name"] == "f"
    assert found.end() < len(text) - 5


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"name": "f", "parameters": {}}, ("f", {})),
        ({"tool": "f", "args": {}}, ("f", {})),
        ({"function": {"name": "f", "arguments": "{}"}}, ("f", "{}")),
        ([{"name": "f"}, {"name": "g"}], ("f", None)),
        ({"name": 1}, None),
        ([], None),
        ("f", None),
    ],
)
def test_any_call(value: Any, expected: Any) -> None:
    """The first call of whatever profile."""
    assert next(any_call(value), None) == expected


def test_objects() -> None:
    """A string holds an object, nothing is an empty one, anything else is none."""
    assert [object_of(value) for value in (None, "", ' {"a": 1}', {"b": 2})] == [{}, {}, {"a": 1}, {"b": 2}]
    values: list[Any] = [[], "[]", 1, "x"]
    for value in values:
        with pytest.raises(ValueError, match=r"no JSON object|value"):
            object_of(value)
