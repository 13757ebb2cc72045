"""What hermes has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, parse, text_of
from tokenmill.formats.hermes import HERMES


def test_names_of_other_servers() -> None:
    """The names under which other servers know it."""
    assert {"qwen25", "granite4"} <= set(HERMES.aliases)


def test_reasoning_is_a_layer_of_its_own() -> None:
    """Calls inside it are drafts unless the message says otherwise."""
    assert HERMES.calls_in_reasoning == "ignore"


def test_prose_is_not_held() -> None:
    """Characters of other languages pass at once."""
    assert text_of(parse(grammar("hermes"), ["a < b && {c} [d]"])) == "a < b && {c} [d]"
