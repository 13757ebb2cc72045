"""What granite_prose_think has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar
from tokenmill.parser import MessageParser


def test_prose_is_held_no_longer_than_it_can_be_the_marker() -> None:
    """A sentence that begins like the marker goes out with the first character that is another."""
    parser = MessageParser.of(grammar("granite_prose_think"), "identity")
    parser.feed("Here is my ")
    assert parser.memory == len("Here is my ")
    parser.feed("a")
    assert parser.memory == 0
