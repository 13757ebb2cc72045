"""The life of a call: unknown tools, problems, failures, what was sent before."""

from typing import Any

import pytest
from msgspec import UNSET

from tests.support.parsing import grammar, named, parse, text_of
from tokenmill.events import Error, TextStart, ToolCall, ToolInputStart
from tokenmill.limits import RAW_CHARS
from tokenmill.parser import MessageParser
from tokenmill.parser.run.calls import call_id

TOOL = {"function": {"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}}
CALL = '<tool_call>{"name":"%s","arguments":{"a":%s}}</tool_call>'


def types(text: str, **options: Any) -> list[str]:
    """The events that follow `message-start`, by name."""
    return [event.type for event in parse(grammar("hermes", tools=[TOOL], **options), [text])][1:]


INPUT = ["tool-input-start", "tool-input-delta", "tool-input-end"]


@pytest.mark.parametrize(
    ("name", "value", "options", "expected"),
    [
        ("f", "1", {}, [*INPUT, "tool-call", "finish"]),
        ("f", '"x"', {}, [*INPUT, "error", "tool-call", "finish"]),
        ("g", "1", {}, [*INPUT, "error", "tool-call", "finish"]),
        ("g", "1", {"unknown_tool": "text"}, ["text-start", *["text-delta"] * 3, "text-end", "finish"]),
        ("g", "1", {"unknown_tool": "drop"}, ["error", "finish"]),
    ],
)
def test_order_of_events(name: str, value: str, options: dict[str, object], expected: list[str]) -> None:
    """Every started input ends; an error comes before the call of the same id."""
    assert types(CALL % (name, value), **options) == expected


@pytest.mark.parametrize(("name", "value", "problem"), [("g", "1", "unknown-tool"), ("f", '"x"', "schema-mismatch")])
def test_a_problem_is_told_twice(name: str, value: str, problem: str) -> None:
    """An `error` for people, the `problem` of the call for programs, with the same id."""
    events = parse(grammar("hermes", tools=[TOOL]), [CALL % (name, value)])
    (error,), (call,) = named(events, Error), named(events, ToolCall)
    assert (error.code, error.id, error.name) == (problem, call.id, name)
    assert call.problem == problem


def test_a_call_that_fails_after_its_start() -> None:
    """Input that was started ends before its error, and all of its source comes out behind it as a block of its own."""
    text = '<tool_call>{"name":"f","arguments":{"a":1]'
    events = parse(grammar("hermes"), [text])
    assert [event.type for event in events][1:] == [
        *("tool-input-start", "tool-input-delta", "tool-input-end", "error"),
        *("text-start", "text-delta", "text-delta", "text-end", "finish"),
    ]
    (error,) = named(events, Error)
    assert [start.call for start in named(events, TextStart)] == [error.id]
    assert text_of(events) == text
    assert error.code == "malformed-call"
    assert error.raw == text[:-1]


def test_a_call_that_fails_before_its_name_is_known() -> None:
    """Its source is a block of its own, too, whose call has no id."""
    events = parse(grammar("hermes"), ["a <tool_call>{oops</tool_call> b"])
    assert [start.call for start in named(events, TextStart)] == [UNSET, "", UNSET]
    assert text_of(events) == "a <tool_call>{oops</tool_call> b"


def test_ids_that_are_made_here_have_the_prefix_of_the_message() -> None:
    """Ids that the provider gave stay as they are: it wants them back with the results."""
    parser = MessageParser.of(grammar("hermes", id_prefix="turn_1:"), "identity")
    events = parser.feed(CALL % ("f", "1")) + parser.tool_calls([{"index": 0, "id": "c1", "function": {"name": "f"}}])
    made, given = named(events, ToolInputStart)
    assert made.id.startswith("turn_1:call_")
    assert (given.id, given.provider, made.provider) == ("c1", True, False)


def test_quoted_source_is_bounded() -> None:
    """An error quotes the beginning of the source only."""
    events = parse(grammar("hermes"), ['<tool_call>{"name":"f","arguments":{"a":"' + "x" * 10_000])
    assert len(named(events, Error)[0].raw) == RAW_CHARS


def test_ids_survive_odd_identities() -> None:
    """Half of a surrogate pair in an id of a conversation does no harm."""
    assert call_id("\ud800", 0).startswith("call_")
    assert call_id("a", 0) != call_id("a", 1)


def test_text_after_a_dropped_call_is_dropped_too() -> None:
    """The text before such a call is still open; what follows goes nowhere, wherever it is cut."""
    text = f"a{CALL % ('g', 1)}bc"
    compiled = grammar("hermes", tools=[TOOL], unknown_tool="drop", text_after_calls="drop")
    assert text_of(parse(compiled, [text])) == text_of(parse(compiled, list(text))) == "a"
