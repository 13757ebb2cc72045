"""The long argument of a tool: guards, layout, what ends it, and that nothing of it waits without need."""

from typing import Any

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse
from tokenmill.events import ArgumentDelta, ToolCall, ToolInputDelta
from tokenmill.parser import MessageParser
from tokenmill.systems.autobyteus.tagged import TAG_CHARS

OPTIONS: dict[str, Any] = {"content_arguments": ["*"]}


def call_of(content: str, path: str = "<path>/a</path>") -> str:
    """A call that writes a file."""
    return f'<tool name="write_file"><arguments>{path}<arg name="content">{content}</arg></arguments></tool>'


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", ""),
        ("\n x \n", "\n x \n"),
        ("a</arg>b", "a"),
        ("</tool></content>", "</tool></content>"),
        (" \n__START_CONTENT__\nx\n__END_CONTENT__\n ", "x\n"),
        ("__START_CONTENT__x__END_CONTENT__", "x"),
        ("__START_CONTENT__\n\nx</arg>y\n__END_CONTENT__", "\nx</arg>y\n"),
        ("__START_CONTENT__\n__END_CONTENT__ __END_CONTENT__x__END_CONTENT__", "__END_CONTENT__ __END_CONTENT__x"),
        ("__START_CONTENT__\nx \n", "x"),
        ("__START_CONTENT__", ""),
        ("x __START_CONTENT__ y", "x __START_CONTENT__ y"),
        ("__START_CONTENT", "__START_CONTENT"),
        ("__END_CONTENT__", "__END_CONTENT__"),
    ],
)
def test_content(content: str, expected: str) -> None:
    """What of it is the file's, at every cut; the deltas joined are the same."""
    text = call_of(content)
    whole = parse(grammar("autobyteus_xml", **OPTIONS), [text])
    (call,) = named(whole, ToolCall)
    assert call.arguments == {"path": "/a", "content": expected}
    assert "".join(event.delta for event in named(whole, ArgumentDelta) if event.argument == "content") == expected
    for chunks in all_cuts(text):
        assert merged(parse(grammar("autobyteus_xml", **OPTIONS), chunks)) == merged(whole), chunks


def test_other_arguments_are_passed_over() -> None:
    """So are those of the tool that come a second time, but for the path."""
    text = call_of("x", '<arg name="note"><b>1</b></arg><path>/a</path>').replace(
        "</arguments>", "<content>y</content><arg name='path'>/b</arg></arguments>"
    )
    (call,) = named(parse(grammar("autobyteus_xml"), list(text)), ToolCall)
    assert call.arguments == {"path": "/b", "content": "x"}


def test_content_comes_as_it_is_written() -> None:
    """White space at the end of guarded text waits, as it may be layout; else only what may be a marker."""
    parser = MessageParser.of(grammar("autobyteus_xml", **OPTIONS), "identity")
    parser.feed('<tool name="write_file"><arg name="content">')
    chunks = ("__START", "_CONTENT__\na", " \n", "b", " c_", "</a", "rg>", ".", "</tool>")
    deltas = [[event.delta for event in named(parser.feed(chunk), ArgumentDelta)] for chunk in chunks]
    assert deltas == [[], ["a"], [], [" \nb"], [" c"], ["_"], [], ["</arg>."], ["</tool>"]]


def test_source_is_all_between_the_tags() -> None:
    """Layout, guards and other arguments included."""
    text = call_of("__START_CONTENT__\nx\n__END_CONTENT__")
    events = parse(grammar("autobyteus_xml"), list(text))
    source = "".join(event.delta for event in named(events, ToolInputDelta))
    assert source == text.removeprefix('<tool name="write_file">').removesuffix("</tool>")


def test_a_path_is_bounded() -> None:
    """What goes on and on is none, and the call is broken."""
    text = call_of("x", f"<path>{'a' * (TAG_CHARS + 1)}</path>")
    for chunks in ([text], list(text)):
        assert codes_of(parse(grammar("autobyteus_xml"), chunks)) == ["malformed-call"]
