"""What mistral_args has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, parse, text_of
from tokenmill.formats.mistral_args import MISTRAL_ARGS


def test_a_call_ends_the_reasoning() -> None:
    """These models call without closing their reasoning."""
    assert MISTRAL_ARGS.calls_in_reasoning == "honour"


def test_a_word_in_brackets_is_not_held() -> None:
    """Brackets of prose pass as soon as they can't become the marker."""
    assert text_of(parse(grammar("mistral_args"), ["a [TOOL] b [1]"])) == "a [TOOL] b [1]"
