"""What think has of its own; its cases are run by the conformance suite."""

from tokenmill.formats.think import THINK


def test_names_of_other_servers() -> None:
    """The names under which other servers know it."""
    assert {"deepseek_r1", "deepseek-r1", "qwen3"} <= set(THINK.aliases)


def test_it_has_no_calls() -> None:
    """Their opening ends the reasoning, and that is all that is known of them."""
    assert THINK.sections == ()
