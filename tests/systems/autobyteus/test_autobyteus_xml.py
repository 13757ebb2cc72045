"""What autobyteus_xml has of its own; its cases are run by the conformance suite."""

import pytest

from tests.support.parsing import grammar, named, parse, text_of
from tokenmill.events import ToolCall, ToolInputStart
from tokenmill.formats import compile_grammar
from tokenmill.parser import MessageParser, Options


def test_a_tag_is_held_until_it_is_one_or_none() -> None:
    """Prose that begins like a tag is given up at the first character that no tag has there."""
    parser = MessageParser.of(grammar("autobyteus_xml"), "identity")
    chunks = ("a <to", "ol is", " not", "= x")
    assert [text_of(parser.feed(chunk)) for chunk in chunks] == ["a ", "", "", "<tool is not= x"]


@pytest.mark.parametrize("text", ["<toolbox ", "<tools", "<write_files ", "<run_bashed>", "< tool", "<tool>"])
def test_what_is_no_tag_is_not_held(text: str) -> None:
    """The character behind the tag's name tells."""
    parser = MessageParser.of(grammar("autobyteus_xml"), "identity")
    assert text_of(parser.feed(f"{text}.")) == f"{text}."


def test_the_opening_says_what_it_is() -> None:
    """Kind and attributes as written: what clients show of a call that has only begun."""
    text = (
        '<write_file path="/a"></write_file><TOOL name="WRITE_FILE"><x/></tool>'
        '<run_bash at="1">l</run_bash><tool name="F"/>'
    )
    starts = named(parse(grammar("autobyteus_xml"), [text]), ToolInputStart)
    assert [(start.name, start.attributes) for start in starts] == [
        ("write_file", {"type": "write_file", "path": "/a"}),
        ("write_file", {"type": "write_file", "tool_name": "WRITE_FILE"}),
        ("run_bash", {"type": "run_bash"}),
        ("F", {"type": "tool_call", "tool_name": "F"}),
    ]


def test_it_lives_beside_other_formats() -> None:
    """The earliest marker wins, whichever format's it is."""
    text = '<tool_call>{"name": "g", "arguments": {}}</tool_call><tool name="f"></tool>'
    for formats in (["hermes", "autobyteus_xml"], ["autobyteus_xml", "hermes"]):
        calls = named(parse(compile_grammar(Options(format=formats)), [text]), ToolCall)
        assert [call.name for call in calls] == ["g", "f"]
