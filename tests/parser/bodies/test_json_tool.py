"""Calls that are JSON texts: when they begin, what is sent of them, where they end."""

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of
from tokenmill.events import ToolCall, ToolInputDelta, ToolInputStart
from tokenmill.limits import NAME_CHARS
from tokenmill.parser import Parser
from tokenmill.parser.bodies.json_tool import HEAD_CHARS

CALL = '{"tool": {"function": "f", "parameters": {"s": "a\\"}", "l": [1, {"x": "]"}]}}}'


def test_all_of_it_is_source() -> None:
    """From the first bracket to the one that closes it, at every cut."""
    text = f"a {CALL} b"
    whole = parse(grammar("autobyteus_json"), [text])
    assert "".join(event.delta for event in named(whole, ToolInputDelta)) == CALL
    assert text_of(whole) == "a  b"
    for chunks in all_cuts(text):
        assert merged(parse(grammar("autobyteus_json"), chunks)) == merged(whole), chunks


def test_a_name_that_comes_last() -> None:
    """The source waits for it."""
    parser = Parser.of(grammar("autobyteus_json"), "identity")
    before = parser.feed('{"tool": {"parameters": {"s": "long"}, "function": "f"}')
    assert named(before, ToolInputStart) == []
    assert [event.delta for event in named(parser.feed("}"), ToolInputDelta)] == [
        '{"tool": {"parameters": {"s": "long"}, "function": "f"}}'
    ]


def test_the_beginning_is_bounded() -> None:
    """Behind it a name is not looked for before the end."""
    text = '{"tool": ' + " " * HEAD_CHARS + '{"function": "f", "parameters": {}}}'
    parser = Parser.of(grammar("autobyteus_json"), "identity")
    assert named(parser.feed(text[:-1]), ToolInputStart) == []
    assert [call.name for call in named(parser.feed(text[-1]), ToolCall)] == ["f"]


@pytest.mark.parametrize(
    "text",
    [
        '{"tool": {"function": "f", "function": "g"}}',
        '{"tool": {"parameters": {}, "function": "' + "f" * (NAME_CHARS + 1) + '"}}',
        '{"tool": {"function": "f"]',
        '{"tool": [}',
        '{"tool": {"function": "f", "parameters": 1}}',
    ],
)
def test_broken(text: str) -> None:
    """Two names, a name too long, brackets that do not fit, no arguments: an error, and the text at every cut."""
    for chunks in ([text], list(text)):
        events = parse(grammar("autobyteus_json"), chunks)
        assert (codes_of(events), text_of(events)) == (["malformed-call"], text)


def test_a_tool_that_is_not_declared() -> None:
    """It is text, and what may be a call in it is looked for."""
    tools = [{"function": {"name": "g"}}]
    text = '{"tool": {"function": "f", "x": {"tool": {"function": "g"}}}}'
    for chunks in ([text], list(text)):
        events = parse(grammar("autobyteus_json", tools=tools), chunks)
        assert [call.name for call in named(events, ToolCall)] == ["g"]
        assert text_of(events) == '{"tool": {"function": "f", "x": }}'
