"""What llama3_json has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, text_of
from tokenmill.parser import MessageParser


def test_prose_is_released_at_once() -> None:
    """A bracket is held only while a call can follow."""
    parser = MessageParser.of(grammar("llama3_json"), "identity")
    assert text_of(parser.feed("if (a) { ")) == "if (a) "
    assert text_of(parser.feed("b")) == "{ b"
    assert text_of(parser.feed('; {"name": "x", "ag')) == '; {"name": "x", "ag'


def test_a_call_streams_once_its_arguments_begin() -> None:
    """It need not be complete."""
    parser = MessageParser.of(grammar("llama3_json"), "identity")
    parser.feed('{"name": "f", "parameters": {"a')
    assert [event.type for event in parser.feed("b")] == ["tool-input-delta"]
