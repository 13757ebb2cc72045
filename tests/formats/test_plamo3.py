"""What plamo3 has of its own; its cases are run by the conformance suite."""

import pytest

from tests.support.parsing import grammar, parse, text_of
from tokenmill.formats.plamo3 import PLAMO3


def test_a_call_ends_the_reasoning() -> None:
    """These models call without closing their reasoning."""
    assert PLAMO3.calls_in_reasoning == "honour"


@pytest.mark.parametrize("layer", ["all", "tools", "reasoning"])
def test_the_end_of_the_turn_is_framing_whatever_is_parsed(layer: str) -> None:
    """It belongs to no layer."""
    assert text_of(parse(grammar("plamo3", parse=layer), ["so<|plamo:tag|>"])) == "so"
