"""What jamba has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar
from tokenmill.parser import MessageParser


def test_a_list_streams() -> None:
    """Each call is complete with its own bracket, not with the list's."""
    parser = MessageParser.of(grammar("jamba"), "identity")
    parser.feed('<tool_calls>[{"name": "f", "arguments": {')
    assert "tool-call" in [event.type for event in parser.feed("}}, ")]
