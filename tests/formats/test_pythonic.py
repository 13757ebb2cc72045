"""What pythonic has of its own; its cases are run by the conformance suite."""

import pytest

from tests.support.parsing import grammar, named, parse
from tokenmill.events import TextDelta, ToolCall
from tokenmill.parser import MessageParser

TOOL = {"function": {"name": "f"}}


@pytest.mark.parametrize("prose", ["[1]", "[link](url)", "[f]", "[f x]", "[f(1)]", "[f(a)]", "a[f(x==1)]"])
def test_brackets_in_prose_are_text(prose: str) -> None:
    """What is no call with keywords is let go."""
    events = parse(grammar("pythonic"), list(prose))
    assert not named(events, ToolCall)
    assert "".join(event.delta for event in named(events, TextDelta)) == prose


def test_nothing_is_held_but_what_can_be_a_call() -> None:
    """A bracket waits for what tells; the first character that does not fit lets all go."""
    parser = MessageParser.of(grammar("pythonic", tools=[TOOL]), "identity")
    sent = [[event.delta for event in named(parser.feed(chunk), TextDelta)] for chunk in ("a", "[f", "(x", ",", "b")]
    assert sent == [["a"], [], [], ["[f(x,"], ["b"]]


def test_only_declared_tools_are_called() -> None:
    """With a tool list, a call of anything else is code in prose."""
    events = parse(grammar("pythonic", tools=[TOOL]), ["[g(a=1), f(a=1)]"])
    assert [call.name for call in named(events, ToolCall)] == ["f"]
    assert [event.type for event in events if event.type == "error"] == []
