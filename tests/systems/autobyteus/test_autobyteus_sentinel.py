"""What autobyteus_sentinel has of its own; its cases are run by the conformance suite."""

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of
from tokenmill.events import TextDelta, TextStart, ToolCall, ToolInputDelta, ToolInputStart
from tokenmill.parser import MessageParser
from tokenmill.systems.autobyteus.autobyteus_sentinel import HEADER_CHARS


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


def test_the_opening_is_the_header() -> None:
    """Its type is the kind that it stands for; all else is as written."""
    text = '[[SEG_START {"type":"TOOL","tool_name":"f","n":[1]}]]{}[[SEG_END]]'
    (start,) = named(parse(grammar("autobyteus_sentinel"), [text]), ToolInputStart)
    assert (start.name, start.attributes) == ("f", {"type": "tool_call", "tool_name": "f", "n": [1]})


@pytest.mark.parametrize("value", ["9" * 23, '"\ufffd"', "[" * 126 + "]" * 126, "1e400"])
def test_a_snapshot_can_be_taken_behind_any_header(value: str) -> None:
    """Also one with a number that only JSON has: what comes is the same."""
    text = f'[[SEG_START {{"type":"tool","tool_name":"f","arguments":{{"x":{value}}}}}]]x[[SEG_END]] b'
    compiled = grammar("autobyteus_sentinel")
    expected = parse(compiled, list(text))
    parser, events = MessageParser.of(compiled, "identity"), []
    for char in text:
        events += parser.feed(char)
        parser = MessageParser.of_state(compiled, parser.encode_state())
    events += parser.finish("stop")
    assert merged(events) == merged(expected)


def test_a_header_is_no_deeper_than_values() -> None:
    """How deep a decoder gets depends on who called it, and no deeper one than all of them get is a header."""
    for depth, calls in ((128, 1), (129, 0), (900, 0), (5_000, 0)):
        text = '[[SEG_START {"type":"run_bash","x":' + "[" * (depth - 1) + "]" * (depth - 1) + "}]]ls[[SEG_END]]"
        assert len(named(parse(grammar("autobyteus_sentinel"), [text]), ToolCall)) == calls


def test_half_an_end_is_held() -> None:
    """Content comes as it is written, but for what may be the end."""
    parser = MessageParser.of(grammar("autobyteus_sentinel"), "identity")
    parser.feed('[[SEG_START {"type":"run_bash"}]]')
    sent = [[event.delta for event in named(parser.feed(text), ToolInputDelta)] for text in ("ls [", "[SEG_", "x", "y")]
    assert sent == [["ls "], [], ["[[SEG_x"], ["y"]]


def test_a_block_of_text_is_a_block_of_its_own() -> None:
    """The markers are no part of it, and what follows it is another."""
    text = 'a[[SEG_START {"type":"text"}]]b[[SEG_END]]c'
    events = parse(grammar("autobyteus_sentinel"), [text])
    assert [event.delta for event in named(events, TextDelta)] == ["a", "b", "c"]
    assert len(named(events, TextStart)) == 3


@pytest.mark.parametrize(
    ("content", "arguments"),
    [
        ('{"name":"bob","age":3}', {"name": "bob", "age": 3}),
        ('{"tool":"hammer"}', {"tool": "hammer"}),
        ('{"name":"f","arguments":{"x":1}}', {"x": 1}),
        ('{"age":3}', {"age": 3}),
    ],
)
def test_arguments_may_be_called_as_a_call_is(content: str, arguments: dict[str, object]) -> None:
    """The header has named the tool: what has no arguments of its own, and another name, is no call but arguments."""
    text = f'[[SEG_START {{"type":"tool","tool_name":"f"}}]]{content}[[SEG_END]]'
    assert [call.arguments for call in named(parse(grammar("autobyteus_sentinel"), [text]), ToolCall)] == [arguments]
