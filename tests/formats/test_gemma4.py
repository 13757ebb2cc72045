"""What gemma4 has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ArgumentDelta, ToolInputDelta
from tokenmill.formats.gemma4 import GEMMA4
from tokenmill.parser import MessageParser


def test_a_call_ends_the_reasoning() -> None:
    """These models call without closing their channel."""
    assert GEMMA4.calls_in_reasoning == "honour"


def test_a_string_is_sent_as_it_grows() -> None:
    """Its mark says that it is text, so nothing but a mark is waited for."""
    parser = MessageParser.of(grammar("gemma4", content_arguments=["*"]), "identity")
    parser.feed('<|tool_call>call:f{a:<|"|>')
    sent = [[event.delta for event in named(parser.feed(chunk), ArgumentDelta)] for chunk in ("x", "y<", "|z", '<|"|>')]
    assert sent == [["x"], ["y"], ["<|z"], []]


def test_source_is_the_region_between_the_brackets() -> None:
    """Verbatim, without the outermost brackets."""
    events = parse(grammar("gemma4"), list("<|tool_call>call:f{ a:1 }<tool_call|>"))
    assert "".join(event.delta for event in named(events, ToolInputDelta)) == " a:1 "
