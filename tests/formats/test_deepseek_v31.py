"""What deepseek_v31 has of its own; its cases are run by the conformance suite."""

from tokenmill.formats.deepseek_v3 import DEEPSEEK_V3
from tokenmill.formats.deepseek_v31 import DEEPSEEK_V31


def test_the_section_is_that_of_deepseek_v3() -> None:
    """The two differ inside the calls only."""
    assert DEEPSEEK_V31.sections[0].open == DEEPSEEK_V3.sections[0].open
    assert DEEPSEEK_V31.sections[0].calls != DEEPSEEK_V3.sections[0].calls
