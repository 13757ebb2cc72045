"""What autobyteus_sentinel has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse
from tokenmill.events import TextDelta, TextStart, ToolInputDelta, ToolInputStart
from tokenmill.parser import Parser


def test_the_opening_is_the_header() -> None:
    """Its type is the kind that it stands for; all else is as written."""
    text = '[[SEG_START {"type":"TOOL","tool_name":"f","n":[1]}]]{}[[SEG_END]]'
    (start,) = named(parse(grammar("autobyteus_sentinel"), [text]), ToolInputStart)
    assert (start.name, start.attributes) == ("f", {"type": "tool_call", "tool_name": "f", "n": [1]})


def test_half_an_end_is_held() -> None:
    """Content comes as it is written, but for what may be the end."""
    parser = Parser.of(grammar("autobyteus_sentinel"), "identity")
    parser.feed('[[SEG_START {"type":"run_bash"}]]')
    sent = [[event.delta for event in named(parser.feed(text), ToolInputDelta)] for text in ("ls [", "[SEG_", "x", "y")]
    assert sent == [["ls "], [], ["[[SEG_x"], ["y"]]


def test_a_block_of_text_is_a_block_of_its_own() -> None:
    """The markers are no part of it, and what follows it is another."""
    text = 'a[[SEG_START {"type":"text"}]]b[[SEG_END]]c'
    events = parse(grammar("autobyteus_sentinel"), [text])
    assert [event.delta for event in named(events, TextDelta)] == ["a", "b", "c"]
    assert len(named(events, TextStart)) == 3
