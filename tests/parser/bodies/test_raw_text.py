"""Text up to a closing tag: passed on as it comes, but for what may be the tag."""

from tests.support.parsing import grammar, named
from tokenmill.events import ArgumentDelta, ToolCall
from tokenmill.parser import Parser


def test_what_may_be_the_closing_tag_is_held() -> None:
    """And nothing else."""
    parser = Parser.of(grammar("autobyteus_xml", content_arguments=["*"]), "identity")
    parser.feed("<run_bash>")
    deltas = [
        [event.delta for event in named(parser.feed(text), ArgumentDelta)]
        for text in ("a", " <", "/RUN", "x", "</", "run_bash>")
    ]
    assert deltas == [["a"], [" "], [], ["</RUNx"], [], []]


def test_short_deltas_wait() -> None:
    """They are joined until there are as many characters as the message wants."""
    parser = Parser.of(grammar("autobyteus_xml", content_arguments=["*"], min_delta_chars=3), "identity")
    parser.feed("<run_bash>")
    deltas = [
        [event.delta for event in named(parser.feed(text), ArgumentDelta)] for text in ("a", "b", "c", "d</run_bash>")
    ]
    assert deltas == [[], [], ["abc"], ["d"]]


def test_argument_deltas_are_only_for_those_who_ask() -> None:
    """The call has the text all the same."""
    parser = Parser.of(grammar("autobyteus_xml"), "identity")
    events = parser.feed("<run_bash>ls") + parser.feed(" -l</run_bash>")
    assert named(events, ArgumentDelta) == []
    assert [call.arguments for call in named(events, ToolCall)] == [{"command": "ls -l"}]
