"""Checkpoint suffixes in the markers of a format."""

import pytest

from tokenmill.formats import FORMATS
from tokenmill.formats.hunyuan_kv import HUNYUAN_KV
from tokenmill.parser.suffix import with_suffix


@pytest.mark.parametrize("suffix", [":7f", "7f"])
def test_every_tag_has_it(suffix: str) -> None:
    """A colon goes between, if the suffix has no sign of its own."""
    format_ = with_suffix(HUNYUAN_KV, suffix)
    assert format_.regions[0].close.spellings == ("</think:7f>",)
    assert format_.sections[0].calls[0].open.spellings == ("<tool_call:7f>", "<tool_call:7f>\n")


def test_signs_of_patterns_are_literal() -> None:
    """A suffix is text."""
    assert with_suffix(HUNYUAN_KV, "\\1").regions[0].close.spellings == ("</think\\1>",)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda format_: str(format_.name))
def test_none_changes_nothing(format_: object) -> None:
    """Without a suffix a format is itself."""
    assert with_suffix(format_, "") is format_  # type: ignore[arg-type] # -- every entry of the list is a format
