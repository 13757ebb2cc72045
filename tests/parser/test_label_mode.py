"""Reasoning in which a stream begins, with the label that belongs to its opening or without it."""

import pytest

from tests.support.parsing import all_cuts, grammar, merged, parse, reasoning_of, text_of
from tokenmill.parser import Parser
from tokenmill.parser.markers import literal, marker
from tokenmill.parser.spec import Format, Region

CLOSE = marker("</r>")
FORMAT = Format(
    name="labelled",
    summary="",
    sample="",
    regions=(Region(marker("<r>"), CLOSE, label=(marker("why:"), marker("why", ahead=[literal("</r>"), [r"\Z"]]))),),
    start="reasoning",
)


@pytest.mark.parametrize(
    ("text", "reasoning", "out"),
    [
        ("why:so</r>x", "so", "x"),
        ("why</r>x", "", "x"),
        ("why", "", ""),
        ("why not</r>x", "why not", "x"),
        ("wh", "wh", ""),
        ("so why:</r>x", "so why:", "x"),
        ("why:why:</r>why:", "why:", "why:"),
        ("<r>so</r>x", "so", "x"),
        ("</r>x", "", "x"),
    ],
)
def test_labels(text: str, reasoning: str, out: str) -> None:
    """Only the first characters can be one, wherever they are cut."""
    compiled = grammar(FORMAT)
    events = parse(compiled, [text])
    assert (reasoning_of(events), text_of(events)) == (reasoning, out)
    for chunks in all_cuts(text):
        assert merged(parse(compiled, chunks)) == merged(events)


def test_nothing_waits_but_a_label() -> None:
    """The first character that does not fit sends what was held."""
    parser = Parser.of(grammar(FORMAT), "identity")
    assert [reasoning_of(parser.feed(chunk)) for chunk in ("wh", "y", "s", "o")] == ["", "", "whys", "o"]


def test_text_has_no_label() -> None:
    """A stream that begins outside of the region is read as ever."""
    assert text_of(parse(grammar(FORMAT, start="text"), ["why:so"])) == "why:so"
