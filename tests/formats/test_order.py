"""Several formats at once: what the first breaks, a later one may have read."""

import pytest

from tokenmill.demo.tools import TOOLS
from tokenmill.formats import find_format
from tokenmill.formats.order import better_read_by, calls_in
from tokenmill.parser import Options

XML = find_format("qwen3_xml").sample
JSON = find_format("hermes").sample


@pytest.mark.parametrize(
    ("formats", "text", "better"),
    [
        (["hermes", "qwen3_xml"], XML, "qwen3_xml"),
        (["qwen3_xml", "hermes"], XML, None),
        (["qwen3_xml", "hermes"], JSON, "hermes"),
        (["hermes", "deepseek_v3"], find_format("deepseek_v3").sample, None),  # they begin otherwise
        (["hermes", "qwen3_xml"], "No call.", None),
        ("hermes", XML, None),
    ],
)
def test_who_would_have_read_it_is_found(formats: str | list[str], text: str, better: str | None) -> None:
    """Where both begin a call with the same marker, the first of the list reads it."""
    assert better_read_by(Options(format=formats), text) == better


def test_only_whole_calls_count() -> None:
    """One that is broken, or does not fit its tool, is none."""
    assert calls_in(Options(format="hermes", tools=TOOLS), JSON) == 1
    assert calls_in(Options(format="hermes", tools=TOOLS), JSON.replace("3", '"three"')) == 0
    assert calls_in(Options(format="hermes", tools=TOOLS), JSON[:-20]) == 0
