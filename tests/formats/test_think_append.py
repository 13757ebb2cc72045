"""What think_append has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, parse, text_of
from tokenmill.parser import MessageParser


def test_the_opening_comes_once() -> None:
    """It is put in front of the first text, and only there."""
    assert text_of(parse(grammar("think_append"), ["", "a", "", "b"])) == "<think>ab"


def test_a_snapshot_does_not_bring_it_back() -> None:
    """A restored parser knows that it was sent."""
    compiled = grammar("think_append")
    parser = MessageParser.of(compiled, "identity")
    parser.feed("a")
    assert text_of(MessageParser.of_state(compiled, parser.encode_state()).feed("b")) == "b"
