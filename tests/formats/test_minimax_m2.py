"""What minimax_m2 has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, parse, reasoning_of
from tokenmill.formats import find_format
from tokenmill.formats.minimax_m2 import MINIMAX_M2


def test_names_of_other_servers() -> None:
    """The names under which other servers know it."""
    assert find_format("minimax-m2") is MINIMAX_M2


def test_an_answer_begins_in_the_reasoning() -> None:
    """The prompt opens it."""
    assert reasoning_of(parse(grammar("minimax_m2"), ["a</think>b"])) == "a"
