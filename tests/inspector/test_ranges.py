"""Which characters of the source made an event."""

import pytest

from tests.conformance.answers import Answer, own_answers
from tokenmill.events import (
    AnyEvent,
    Error,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from tokenmill.formats import FORMATS, compile_grammar
from tokenmill.inspector.ranges import Made, Ranges
from tokenmill.parser import Format, Grammar, MessageParser, Options
from tokenmill.parser.run.run import Span
from tokenmill.parser.values.repair import decode_string

GOOD = '<tool_call>\n{"name":"f","arguments":{"a":1}}\n</tool_call>'
BROKEN = '<tool_call>\n{"name":"f","arguments":{"a":}}\n</tool_call>'

SILENT = frozenset({"tool_choice"})
"""Formats that make a call of no text at all."""

CODED = frozenset({"structured_output"})
"""Formats whose text is written otherwise than it reads: a piece marks all of the string that was read with it."""


def made_of(grammar: Grammar, text: str, size: int) -> list[Made]:
    """The events of a text in pieces of this size, with their ranges."""
    parser, ranges, read = MessageParser.of(grammar, "identity"), Ranges(), 0
    found = list[Made]()
    for at in range(0, len(text), size):
        before = read - len(parser.state.held)
        events = parser.feed(text[at : at + size])
        read += len(text[at : at + size]) + (len(grammar.prompt) if not at else 0)
        found += ranges.take(events, before, read - len(parser.state.held))
    return found + ranges.take(parser.finish(), read - len(parser.state.held), read)


def traced(name: str) -> Grammar:
    return compile_grammar(Options(format=name), traced=True)


@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS, ids=lambda format_: format_.name)
@pytest.mark.parametrize("size", [1, 7, 1_000_000])
def test_every_event_marks_what_made_it(format_: Format, size: int) -> None:
    """In all own cases of all formats, however they are cut: text stands there, and a call has a source."""
    for answer in own_answers(format_.name):
        for made in made_of(answer.grammar, answer.text, size):
            assert 0 <= made.start <= made.end <= len(answer.source), answer.name
            check(answer, made, format_.name)


def check(answer: Answer, made: Made, format_name: str) -> None:
    """One event against its source."""
    event, there = made.event, answer.source[made.start : made.end]
    if isinstance(event, TextDelta | ReasoningDelta):
        coded = format_name in CODED and event.delta in decode_string(there)
        assert coded or event.delta == there, answer.name
    elif isinstance(event, ToolCall | ToolInputEnd):
        assert there or format_name in SILENT, answer.name
    elif isinstance(event, Error) and isinstance(event.raw, str):
        assert event.raw in there or there in event.raw, answer.name


def source(text: str, made: list[Made], kind: type[AnyEvent] | tuple[type[AnyEvent], ...]) -> list[str]:
    return [text[each.start : each.end] for each in made if isinstance(each.event, kind)]


def test_a_call_has_all_of_its_source_and_what_grows_has_what_was_read() -> None:
    """Markers of the section are of no event."""
    text = f"a {GOOD} b"
    made = made_of(traced("hermes"), text, 1)
    whole = GOOD.removesuffix("\n</tool_call>")
    assert source(text, made, ToolCall) == [whole]
    assert source(text, made, ToolInputEnd) == [whole]
    assert "".join(source(text, made, ToolInputDelta)) == '{"a":1}'
    assert source(text, made, TextDelta) == ["a", " ", " b"]


def test_what_stands_behind_a_call_in_the_same_piece_made_nothing_of_it() -> None:
    """What grows ends with its call."""
    text = f"a {GOOD} b"
    made = made_of(traced("hermes"), text, 100)
    whole = GOOD.removesuffix("\n</tool_call>")
    assert source(text, made, (ToolInputStart, ToolInputDelta)) == [whole, whole]


def test_a_call_that_failed_marks_what_its_error_quotes() -> None:
    """And its text comes back in the same place."""
    text = f"a {BROKEN} b"
    made = made_of(traced("hermes"), text, 5)
    whole = BROKEN.removesuffix("\n</tool_call>")
    assert source(text, made, Error) == [whole]
    assert source(text, made, ToolInputEnd) == [whole]


def test_calls_of_one_source_share_it() -> None:
    """The source is told with the last of them."""
    text = '<tool_call>[{"name":"f"},{"name":"g"}]</tool_call>'
    assert source(text, made_of(traced("json_mix"), text, 100), ToolCall) == [text, text]


def test_text_that_waits_for_a_boundary_is_where_it_stood() -> None:
    """Markers that came meanwhile are counted in front of what follows them, and not of what waits."""
    text = "one <turn|>two. three"
    made = made_of(compile_grammar(Options(format="gemma4", text_mode="smart"), traced=True), text, 1)
    assert source(text, made, TextDelta) == ["one <turn|>two. ", "three"]


def test_spans_alone_make_no_event() -> None:
    """They only say where what follows is."""
    ranges = Ranges()
    assert ranges.take([Span("marker", "<x>")], 0, 3) == []
    assert ranges.take([TextDelta("t0", "ab")], 3, 5) == [Made(TextDelta("t0", "ab"), 3, 5)]
