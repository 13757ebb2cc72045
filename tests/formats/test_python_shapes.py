"""Shapes of formats that write calls in Python."""

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of
from tokenmill.events import ToolCall
from tokenmill.formats.python_shapes import bare_calls, marked_calls
from tokenmill.parser import Format, Section
from tokenmill.parser.markers import marker

MARKED = marked_calls(marker("<c>"), marker("</c>"))


@pytest.mark.parametrize(
    ("section", "text", "calls", "out"),
    [
        (MARKED, "a<c>[f(a=1), g()]</c>b", 2, "ab"),
        (MARKED, "[f(a=1)]", 0, "[f(a=1)]"),
        (bare_calls(), "a [f(a=1), g()] b", 2, "a  b"),
        (bare_calls(), "[1] and [f of (x)] and [f(]", 0, "[1] and [f of (x)] and [f(]"),
    ],
)
def test_calls_in_text(section: Section, text: str, calls: int, out: str) -> None:
    """Between markers or in running text; a bracket that begins no call is text, wherever it is cut."""
    compiled = grammar(Format(name="shape", summary="", sample="", sections=(section,)))
    whole = merged(parse(compiled, [text]))
    assert (len(named(whole, ToolCall)), text_of(whole), codes_of(whole)) == (calls, out, [])
    for chunks in all_cuts(text):
        assert merged(parse(compiled, chunks)) == whole
