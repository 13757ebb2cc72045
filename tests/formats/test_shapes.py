"""Shapes that several formats share."""

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of
from tokenmill.events import ToolCall
from tokenmill.formats.shapes import bare_json_list, bare_json_object, json_calls, json_list
from tokenmill.parser import Format, Section
from tokenmill.parser.markers import marker

CALL = '{"name": "f", "arguments": {"a": [1]}}'


@pytest.mark.parametrize(
    ("section", "text", "calls", "out"),
    [
        (json_calls(marker("<c>"), marker("</c>")), f"a<c>{CALL}</c>b", 1, "ab"),
        (json_calls(marker("<c>"), marker("</c>")), f"a<c>[{CALL}, {CALL}]</c>b", 2, "ab"),
        (json_calls(marker("<c>"), None), f"a<c>{CALL} b", 1, "a b"),
        (json_list(marker("<c>")), f"a<c> [{CALL},\n{CALL}] b", 2, "a b"),
        (bare_json_list(), f"[1] [{CALL}, {CALL}] b", 2, "[1]  b"),
        (bare_json_object(";"), f"{{1}} {CALL}; {CALL} b", 2, "{1}  b"),
    ],
)
def test_calls_in_text(section: Section, text: str, calls: int, out: str) -> None:
    """Framing is swallowed, text is not, wherever it is cut."""
    compiled = grammar(Format(name="shape", summary="", sample="", sections=(section,)))
    whole = merged(parse(compiled, [text]))
    assert (len(named(whole, ToolCall)), text_of(whole), codes_of(whole)) == (calls, out, [])
    for chunks in all_cuts(text):
        assert merged(parse(compiled, chunks)) == whole
