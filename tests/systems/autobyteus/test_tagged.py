"""Calls whose opening is a tag: what is a tag, which kind of call it opens, and what it must say."""

import pytest

from tests.support.parsing import grammar, named, parse, text_of
from tokenmill.events import ArgumentDelta, ToolCall
from tokenmill.parser import MessageParser
from tokenmill.systems.autobyteus.tagged import TAG_CHARS, long_argument


def test_what_may_be_the_closing_tag_is_held() -> None:
    """And nothing else."""
    parser = MessageParser.of(grammar("autobyteus_xml", content_arguments=["*"]), "identity")
    parser.feed("<run_bash>")
    deltas = [
        [event.delta for event in named(parser.feed(text), ArgumentDelta)]
        for text in ("a", " <", "/RUN", "x", "</", "run_bash>")
    ]
    assert deltas == [["a"], [" "], [], ["</RUNx"], [], []]


def test_short_deltas_wait() -> None:
    """They are joined until there are as many characters as the message wants."""
    parser = MessageParser.of(grammar("autobyteus_xml", content_arguments=["*"], min_delta_chars=3), "identity")
    parser.feed("<run_bash>")
    deltas = [
        [event.delta for event in named(parser.feed(text), ArgumentDelta)] for text in ("a", "b", "c", "d</run_bash>")
    ]
    assert deltas == [[], [], ["abc"], ["d"]]


def test_argument_deltas_are_only_for_those_who_ask() -> None:
    """The call has the text all the same."""
    parser = MessageParser.of(grammar("autobyteus_xml"), "identity")
    events = parser.feed("<run_bash>ls") + parser.feed(" -l</run_bash>")
    assert named(events, ArgumentDelta) == []
    assert [call.arguments for call in named(events, ToolCall)] == [{"command": "ls -l"}]


def calls_of(text: str) -> list[tuple[str, dict[str, object]]]:
    """Names and arguments of the calls."""
    return [(call.name, call.arguments) for call in named(parse(grammar("autobyteus_xml"), [text]), ToolCall)]


@pytest.mark.parametrize(
    "tag",
    ['<tool name="f">', "<tool\n\tname = 'f'\n>", '<tool new name="f" a:b-c="<>">', '<tool x="\'" name="f">'],
)
def test_tags(tag: str) -> None:
    """White space, other attributes and whatever stands in quotes."""
    assert calls_of(f"{tag}</tool>") == [("f", {})]


@pytest.mark.parametrize(
    "tag", ["<tool name=f>", '<tool name="">', '<tool "f">', '<tool name="f" <', "<tool name>", "<tool/ >"]
)
def test_no_tags(tag: str) -> None:
    """What is written otherwise is text, and no error."""
    assert text_of(parse(grammar("autobyteus_xml"), [f"{tag}x"])) == f"{tag}x"


def test_a_tag_is_bounded() -> None:
    """A tag that goes on and on is text."""
    inside, beyond = (f"<run_bash {'a' * size}>x</run_bash>" for size in (TAG_CHARS - 20, TAG_CHARS))
    assert len(calls_of(inside)) == 1
    assert text_of(parse(grammar("autobyteus_xml"), list(beyond))) == beyond


def test_entities_in_a_tag() -> None:
    """An attribute's value is what its characters stand for."""
    assert calls_of('<write_file path="a&amp;b">x</write_file>') == [("write_file", {"path": "a&b", "content": "x"})]


@pytest.mark.parametrize(("text", "path"), [("", None), (" \n", None), ("x", "")])
def test_nothing_to_call_the_tool_with(text: str, path: str | None) -> None:
    """No command to run, no path to write to."""
    with pytest.raises(ValueError, match="the command is empty" if path is None else "there is no path"):
        long_argument("command", text, path)


def test_an_empty_file_is_one() -> None:
    """Files may be empty, commands not."""
    assert long_argument("content", "", "/a") == {"path": "/a", "content": ""}
