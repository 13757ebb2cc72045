"""What granite20b_fc has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, text_of
from tokenmill.parser import MessageParser


def test_the_object_ends_the_call() -> None:
    """Its last bracket completes it at once; text may follow."""
    parser = MessageParser.of(grammar("granite20b_fc"), "identity")
    assert "tool-call" in [event.type for event in parser.feed('<function_call>{"name": "f", "arguments": {}}')]
    assert text_of(parser.feed(" and so on")) == " and so on"
