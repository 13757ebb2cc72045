"""Shapes that several formats share."""

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of
from tokenmill.events import ToolCall
from tokenmill.formats.shapes import (
    CALL_AHEAD,
    CALLS_AHEAD,
    bare_json_list,
    bare_json_object,
    json_calls,
    json_list,
    json_pairs,
)
from tokenmill.limits import NAME_CHARS
from tokenmill.parser import Format, Section
from tokenmill.parser.markers import Scanner, marker

CALL = '{"name": "f", "arguments": {"a": [1]}}'


@pytest.mark.parametrize(
    ("section", "text", "calls", "out"),
    [
        (json_calls(marker("<c>"), marker("</c>")), f"a<c>{CALL}</c>b", 1, "ab"),
        (json_calls(marker("<c>"), marker("</c>")), f"a<c>[{CALL}, {CALL}]</c>b", 2, "ab"),
        (json_calls(marker("<c>"), None), f"a<c>{CALL} b", 1, "a b"),
        (json_calls(marker("<c>"), marker("</c>")), "a<c></c>b", 0, "ab"),
        (json_pairs("c"), f"a <c>{CALL}</c><c></c> b <c> </c> c <c>\n</c>.", 1, "a  b <c> </c> c ."),
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


AHEAD = Scanner([(marker("{", ahead=CALL_AHEAD), "call"), (marker("[", ahead=CALLS_AHEAD), "calls")])
NAMED = '"name": "f", "arguments": {'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{" + NAMED + '"', "call"),
        ("{" + NAMED + "}", "call"),
        ('{\n  "name" : "f",\n  "parameters" : {\n    "', "call"),
        ("{'name': 'f', 'parameters': {'", "call"),
        ('{"type": "function", ' + NAMED + "}", "call"),
        (r'{"name": "t\u00e9\\t", "arguments": {"', "call"),
        ("[{" + NAMED + "}", "calls"),
        ('[\n  {"type":"function",' + NAMED + "}", "calls"),
    ],
)
def test_a_call_ahead(text: str, found: str) -> None:
    """A name, then the arguments: at the first character inside them it is certain, and before that it is held."""
    hit = AHEAD.find(text, 0, final=False)
    assert hit is not None
    assert (hit.start, hit.end, hit.value) == (0, 1, found)
    for size in range(1, len(text)):
        held = AHEAD.find(text[:size], 0, final=False)
        assert held is not None
        assert (held.start, held.end) == (0, -1)


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Bob", "age"',
        '{"name": ""',
        r'{"name": "a\", "arguments"',
        '{"name": 1',
        '{"name": "f"}',
        '{"name": "f", "arguments": "',
        '{"name": "f", "arguments": null',
        '{"name": "f", "arguments": {1',
        '{"type": "object"',
        "{ code }",
        "[1]",
        "[ {1",
        '{"name": "' + "x" * (NAME_CHARS + 1),
    ],
)
def test_prose_and_data(text: str) -> None:
    """Anything else is released as soon as it can't be a call."""
    assert AHEAD.find(text, 0, final=False) is None
