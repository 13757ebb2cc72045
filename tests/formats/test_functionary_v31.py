"""What functionary_v31 has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar
from tokenmill.parser import MessageParser


def test_arguments_stream() -> None:
    """Their source is sent as it comes, as the name is known before."""
    parser = MessageParser.of(grammar("functionary_v31"), "identity")
    parser.feed("<function=f>")
    assert [event.type for event in parser.feed('{"a": "x')] == ["tool-input-delta"]
