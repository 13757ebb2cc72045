"""What autobyteus_json has of its own; its cases are run by the conformance suite."""

import json
from typing import Any

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of
from tokenmill.errors import BadOpen
from tokenmill.events import TextDelta, ToolCall, ToolInputDelta, ToolInputStart
from tokenmill.limits import NAME_CHARS
from tokenmill.parser import MessageParser
from tokenmill.systems.autobyteus.autobyteus_json import HEAD_CHARS, PROFILES, any_call, object_of

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


CALL = '{"tool": {"function": "f", "parameters": {"s": "a\\"}", "l": [1, {"x": "]"}]}}}'


def test_all_of_it_is_source() -> None:
    """From the first bracket to the one that closes it, at every cut."""
    text = f"a {CALL} b"
    whole = parse(grammar("autobyteus_json"), [text])
    assert "".join(event.delta for event in named(whole, ToolInputDelta)) == CALL
    assert text_of(whole) == "a  b"
    for chunks in all_cuts(text):
        assert merged(parse(grammar("autobyteus_json"), chunks)) == merged(whole), chunks


def test_a_name_that_comes_last() -> None:
    """The source waits for it."""
    parser = MessageParser.of(grammar("autobyteus_json"), "identity")
    before = parser.feed('{"tool": {"parameters": {"s": "long"}, "function": "f"}')
    assert named(before, ToolInputStart) == []
    assert [event.delta for event in named(parser.feed("}"), ToolInputDelta)] == [
        '{"tool": {"parameters": {"s": "long"}, "function": "f"}}'
    ]


def test_the_beginning_is_bounded() -> None:
    """Behind it a name is not looked for before the end."""
    text = '{"tool": ' + " " * HEAD_CHARS + '{"function": "f", "parameters": {}}}'
    parser = MessageParser.of(grammar("autobyteus_json"), "identity")
    assert named(parser.feed(text[:-1]), ToolInputStart) == []
    assert [call.name for call in named(parser.feed(text[-1]), ToolCall)] == ["f"]


@pytest.mark.parametrize(
    "text",
    [
        '{"tool": {"function": "f", "function": "g"}}',
        '{"tool": {"parameters": {}, "function": "' + "f" * (NAME_CHARS + 1) + '"}}',
        '{"tool": {"function": "f"]',
        '{"tool": [}',
        '{"tool": {"function": "f", "parameters": 1}}',
    ],
)
def test_broken(text: str) -> None:
    """Two names, a name too long, brackets that do not fit, no arguments: an error, and the text at every cut."""
    for chunks in ([text], list(text)):
        events = parse(grammar("autobyteus_json"), chunks)
        assert (codes_of(events), text_of(events)) == (["malformed-call"], text)


def test_a_tool_that_is_not_declared() -> None:
    """It is text, and what may be a call in it is looked for."""
    tools = [{"function": {"name": "g"}}]
    text = '{"tool": {"function": "f", "x": {"tool": {"function": "g"}}}}'
    for chunks in ([text], list(text)):
        events = parse(grammar("autobyteus_json", tools=tools), chunks)
        assert [call.name for call in named(events, ToolCall)] == ["g"]
        assert text_of(events) == '{"tool": {"function": "f", "x": }}'


def test_a_name_that_comes_first_is_not_waited_for() -> None:
    """The source of a long call comes as it is written."""
    parser = MessageParser.of(grammar("autobyteus_json"), "identity")
    chunks = ('{"tool": {"function": "f"', ', "parameters": {"s": "', "abc", '"}}}')
    sent = [[event.delta for event in named(parser.feed(chunk), ToolInputDelta)] for chunk in chunks]
    assert sent == [[], ['{"tool": {"function": "f", "parameters": {"s": "'], ["abc"], ['"}}}']]


def test_brackets_of_prose_are_not_held() -> None:
    """A bracket waits for as long as a pattern can still follow."""
    parser = MessageParser.of(grammar("autobyteus_json"), "identity")
    assert [
        [event.delta for event in named(parser.feed(text), TextDelta)] for text in ("a [", "1", "] {", '"t', "i")
    ] == [
        ["a "],
        ["[1"],
        ["] "],
        [],
        ['{"ti'],
    ]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"json_profile": "nonsense"}, "unknown 'nonsense'; known are default, openai, gemini"),
        ({"json_patterns": ['{"tool"', "tool"]}, "'tool' does not begin with one of { \\["),
    ],
)
def test_options_that_say_nothing(options: dict[str, Any], problem: str) -> None:
    """They are refused, with what there is instead."""
    with pytest.raises(BadOpen, match=problem):
        grammar("autobyteus_json", **options)
