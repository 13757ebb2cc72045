"""Checkpoint suffixes in the markers of a format."""

import pytest

from tokenmill.formats import FORMATS
from tokenmill.formats.glm_kv import GLM_KV
from tokenmill.parser.suffix import with_suffix, with_suffix_or_not


@pytest.mark.parametrize("suffix", [":7f", "7f"])
def test_every_tag_has_it(suffix: str) -> None:
    """A colon goes between, if the suffix has no sign of its own."""
    format_ = with_suffix(GLM_KV, suffix)
    assert format_.regions[0].close.spellings == ("</think:7f>",)
    spellings = set(format_.sections[0].calls[0].open.spellings)
    assert {"<tool_call:7f>", "<tool_call:7f>\n"} <= spellings
    assert not {"<tool_call>", "<tool_call>\n"} & spellings


def test_signs_of_patterns_are_literal() -> None:
    """A suffix is text."""
    assert with_suffix(GLM_KV, "\\1").regions[0].close.spellings == ("</think\\1>",)


def test_a_suffix_that_may_be_left_out() -> None:
    """Every tag has both spellings, what is no tag its own."""
    (call,) = with_suffix_or_not(GLM_KV, ":7f").sections[0].calls
    assert {"<tool_call>", "<tool_call>\n", "<tool_call:7f>", "<tool_call:7f>\n"} < set(call.open.spellings)
    assert call.header is not None
    assert call.header.until.spellings == ("\n", "\\n")


@pytest.mark.parametrize("format_", FORMATS, ids=lambda format_: str(format_.name))
def test_none_changes_nothing(format_: object) -> None:
    """Without a suffix a format is itself."""
    assert with_suffix(format_, "") is format_  # type: ignore[arg-type] # -- every entry of the list is a format
