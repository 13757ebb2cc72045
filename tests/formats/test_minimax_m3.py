"""What minimax_m3 has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, parse, text_of
from tokenmill.formats import find_format
from tokenmill.formats.minimax_m3 import MINIMAX_M3


def test_names_of_other_servers() -> None:
    """The name under which other servers know it."""
    assert find_format("minimax-m3") is MINIMAX_M3


def test_half_a_token_is_text() -> None:
    """Brackets of prose are not held for long."""
    assert text_of(parse(grammar("minimax_m3"), ["a[0]<b ]<] c"])) == "a[0]<b ]<] c"
