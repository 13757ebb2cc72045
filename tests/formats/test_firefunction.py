"""What firefunction has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, parse, text_of


def test_the_space_in_front_is_text() -> None:
    """It is not part of the marker, so words are never held for it."""
    events = parse(grammar("firefunction"), [' functools[{"name": "f", "arguments": {}}]'])
    assert text_of(events) == " "
