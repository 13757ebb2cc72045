"""What deepseek_v3 has of its own; its cases are run by the conformance suite."""

from tokenmill.formats.deepseek_v3 import DEEPSEEK_V3


def test_distilled_models_spell_the_section_differently() -> None:
    """Every spelling of the opening has its closing."""
    (section,) = DEEPSEEK_V3.sections
    assert section.open is not None
    assert section.close is not None
    assert {spelling.replace("begin", "end") for spelling in section.open.spellings} >= set(section.close.spellings)
