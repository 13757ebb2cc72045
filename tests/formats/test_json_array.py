"""What json_array has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar
from tokenmill.parser import MessageParser


def test_an_input_starts_with_its_arguments() -> None:
    """What is held is released or becomes a call at the first character of the arguments."""
    parser = MessageParser.of(grammar("json_array"), "identity")
    assert [event.type for event in parser.feed('[{"name": "f", "parameters": {')] == ["message-start"]
    assert [event.type for event in parser.feed('"')] == ["tool-input-start", "tool-input-delta"]
