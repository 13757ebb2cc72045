"""What comes out of a step: blocks, from when there is something to say until something else follows, and calls."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from tests.support.parsing import grammar, named, parse, text_of, traced
from tokenmill.events import (
    AnyEvent,
    Error,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputStart,
)
from tokenmill.limits import RAW_CHARS, Limits
from tokenmill.parser import MessageParser
from tokenmill.parser.run.run import Run, Span, call_id, up_to_boundary
from tokenmill.parser.run.state import State


@pytest.mark.parametrize(
    ("waiting", "text", "sent", "waits"),
    [
        ("", "One", "", "One"),
        ("One", ".", "", "One."),
        ("One.", "Two", "", "One.Two"),
        ("One.", " ", "One. ", ""),
        ("", "One. Two", "One. ", "Two"),
        ("a", "\nb. c\nd", "a\nb. c\n", "d"),
        ("", "0123456789", "", "0123456789"),
        ("0123456789", "x", "0123456789", "x"),
        ("", "0123456789" * 2 + "x", "0123456789" * 2, "x"),
        ("", "ab\n" + "0123456789x", "ab\n0123456789", "x"),
    ],
)
def test_where_text_is_cut(waiting: str, text: str, sent: str, waits: str) -> None:
    """Behind a line, behind a sentence, else above 10 characters; a full stop alone ends nothing."""
    assert up_to_boundary(waiting, text, 10) == (sent, waits)


@given(st.text(alphabet="ab. \n", max_size=60), st.sets(st.integers(0, 60)), st.integers(0, 7))
def test_what_is_sent_depends_on_the_text_alone(text: str, cuts: set[int], most: int) -> None:
    """However it is cut, as much of it is out, and nothing is lost or held for longer than asked."""
    at = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    out, waiting = "", ""
    for begin, end in pairwise(at):
        sent, waiting = up_to_boundary(waiting, text[begin:end], most)
        out += sent
        assert len(waiting) <= max(1, most)
    assert (out, waiting) == up_to_boundary("", text, most)
    assert out + waiting == text


def deltas(text: str) -> list[str]:
    """The deltas of a text that arrives one character at a time."""
    events = parse(grammar("hermes", text_mode="smart", max_buffer_chars=8), list(text))
    return [event.delta for event in events if isinstance(event, TextDelta)]


def test_deltas_are_pieces_between_boundaries() -> None:
    """The end of the message sends what still waits."""
    assert deltas("It is. 1.5 m\nand so on") == ["It is. ", "1.5 m\n", "and so o", "n"]


def test_a_call_sends_what_waits() -> None:
    """Its text came before it."""
    text = 'Look <tool_call>{"name": "f", "arguments": {}}</tool_call> b'
    assert deltas(text) == ["Look ", " b"]


def test_what_comes_beside_the_text_keeps_its_place() -> None:
    """Reasoning, other content and errors of the provider come behind the text that was there before them."""
    parser = MessageParser.of(grammar("plain", text_mode="smart"), "identity")
    events: list[AnyEvent] = [*parser.feed("a"), *parser.reasoning("r"), *parser.feed("b"), *parser.reasoning("s")]
    events += [*parser.feed("c"), *parser.part("refusal", "no"), *parser.feed("d"), *parser.fail("boom")]
    order = [getattr(event, "delta", event.type) for event in events if not event.type.endswith(("-start", "-end"))]
    assert order == ["a", "r", "b", "s", "c", "part", "d", "error"]


def test_reasoning_is_not_held() -> None:
    """It ends where text begins, also where that still waits."""
    parser = MessageParser.of(grammar("plain", text_mode="smart"), "identity")
    assert [event.delta for event in parser.reasoning("rea") if isinstance(event, ReasoningDelta)] == ["rea"]
    assert [event.type for event in parser.feed("a")] == ["reasoning-end"]
    assert not any(isinstance(event, TextEnd) for event in parser.feed("b"))


def test_blocks() -> None:
    """A change of kind ends one block and begins the next; ids count through both kinds."""
    run = Run(grammar(), State("identity", 0))
    run.put("a", reasoning=True)
    run.put("", reasoning=False)
    run.put("b", reasoning=True)
    run.put("c", reasoning=False)
    run.close_block()
    run.close_block()
    assert run.out == [
        *(ReasoningStart("r0"), ReasoningDelta("r0", "a"), ReasoningDelta("r0", "b"), ReasoningEnd("r0")),
        *(TextStart("t1"), TextDelta("t1", "c"), TextEnd("t1")),
    ]


def test_pieces() -> None:
    """Long text is cut into deltas of the cap."""
    assert Run(grammar(limits=Limits(delta_chars=2)), State("identity", 0)).pieces("abcde") == ["ab", "cd", "e"]


def test_notes_are_for_traced_grammars_only() -> None:
    """Spans are recorded where they are asked for, and only of something."""
    plain, with_trace = Run(grammar(), State("identity", 0)), Run(traced("plain"), State("identity", 0))
    for run in (plain, with_trace):
        run.note("marker", "<x>")
        run.note("marker", "")
    assert not plain.out
    assert list[AnyEvent | Span](with_trace.out) == [Span("marker", "<x>")]


# The life of a call: unknown tools, problems, failures, what was sent before.

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
