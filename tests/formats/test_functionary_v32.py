"""What functionary_v32 has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, text_of
from tokenmill.parser import MessageParser


def test_prose_is_held_for_its_first_word_only() -> None:
    """A header is one word and a new line: a space shows that it is none."""
    parser = MessageParser.of(grammar("functionary_v32"), "identity")
    assert [text_of(parser.feed(chunk)) for chunk in ("Hel", "lo", ",", " world")] == ["", "", "Hello,", " world"]
