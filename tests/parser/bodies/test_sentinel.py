"""Segments with a header in JSON: what a header is, where the call's name and arguments come from."""

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of
from tokenmill.events import ToolCall, ToolInputDelta
from tokenmill.parser.bodies.sentinel import HEADER_CHARS


def test_a_header_ends_with_its_object() -> None:
    """Whatever its strings hold, at every cut."""
    text = 'a[[SEG_START {"type":"tool","tool_name":"f","arguments":{"s":"]] \\" [[SEG_END]]"}} ]]x[[SEG_END]]b'
    whole = parse(grammar("autobyteus_sentinel"), [text])
    assert [call.arguments for call in named(whole, ToolCall)] == [{"s": ']] " [[SEG_END]]'}]
    assert [event.delta for event in named(whole, ToolInputDelta)] == ["x"]
    for chunks in all_cuts(text):
        assert merged(parse(grammar("autobyteus_sentinel"), chunks)) == merged(whole), chunks


@pytest.mark.parametrize(
    "header",
    ["", "[]", "1", '"x"', "{bad}", "{}", '{"type":"x"}', '{"type":"tool","tool_name":1}', '{"type":"tool"} x', "]"],
)
def test_no_header(header: str) -> None:
    """What is no header leaves text, and the end marker behind it is text, too."""
    text = f"[[SEG_START {header}]]x[[SEG_END]]"
    for chunks in ([text], list(text)):
        assert text_of(parse(grammar("autobyteus_sentinel"), chunks)) == text


def test_a_header_is_bounded() -> None:
    """It may hold arguments, but no files."""
    for size, calls in ((HEADER_CHARS - 100, 1), (HEADER_CHARS, 0)):
        text = '[[SEG_START {"type":"run_bash","note":"' + "x" * size + '"}]]ls[[SEG_END]]'
        assert len(named(parse(grammar("autobyteus_sentinel"), [text]), ToolCall)) == calls


@pytest.mark.parametrize(
    ("content", "arguments"),
    [
        ('{"name":"f","arguments":{"a":1}}', {"a": 1}),
        ('[{"tool":"f","parameters":"{\\"a\\":1}"}]', {"a": 1}),
        ('{"name":"f"}', {}),
        ('{"name":"f","arguments":[1]}', None),
        ("{oops", None),
        ("", None),
    ],
)
def test_a_content_that_names_the_tool(content: str, arguments: dict[str, int] | None) -> None:
    """It is a call in JSON, or the segment is broken."""
    events = parse(grammar("autobyteus_sentinel"), list(f'[[SEG_START {{"type":"tool"}}]]{content}[[SEG_END]]'))
    assert [(call.name, call.arguments) for call in named(events, ToolCall)] == (
        [] if arguments is None else [("f", arguments)]
    )
    assert codes_of(events) == (["malformed-call"] if arguments is None else [])
