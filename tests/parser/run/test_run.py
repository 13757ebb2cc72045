"""Blocks: opened when there is something to say, closed when something else follows."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.parsing import grammar, parse, traced
from tokenmill.events import AnyEvent, ReasoningDelta, ReasoningEnd, ReasoningStart, TextDelta, TextEnd, TextStart
from tokenmill.limits import Limits
from tokenmill.parser import MessageParser
from tokenmill.parser.run.run import Run, Span, up_to_boundary
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
