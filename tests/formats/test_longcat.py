"""What longcat has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, parse, text_of


def test_tags_of_hermes_are_text() -> None:
    """What opens a call elsewhere means nothing here."""
    text = '<tool_call>{"name": "f"}</tool_call>'
    assert text_of(parse(grammar("longcat"), [text])) == text
