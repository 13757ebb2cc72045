"""What kimi_think has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, parse, text_of


def test_triangles_of_prose_pass() -> None:
    """Only the whole marker is one."""
    assert text_of(parse(grammar("kimi_think"), ["◁ and ▷ and ◁thin"])) == "◁ and ▷ and ◁thin"
