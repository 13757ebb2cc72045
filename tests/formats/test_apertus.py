"""What apertus has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar
from tokenmill.parser import MessageParser


def test_the_key_is_the_name() -> None:
    """The input starts as soon as the key is known."""
    parser = MessageParser.of(grammar("apertus"), "identity")
    events = parser.feed('<|tools_prefix|>[{"f"')
    assert [event.type for event in events] == ["message-start", "tool-input-start"]
