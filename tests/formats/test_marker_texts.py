"""The markers of a format as texts."""

import pytest

from tokenmill.formats import FORMATS, find_format
from tokenmill.formats.marker_texts import marker_texts
from tokenmill.parser import Format


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("hermes", {"<tool_call>", "</tool_call>", "<think>", "</think>"}),
        ("kimi_k2", {"<|tool_calls_section_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"}),
        ("harmony", {"<|channel|>", "<|message|>", "<|call|>"}),
    ],
)
def test_a_format_names_its_markers(name: str, texts: set[str]) -> None:
    """Those of calls and of reasoning."""
    assert texts <= set(marker_texts(find_format(name)))


@pytest.mark.parametrize("format_", FORMATS, ids=lambda format_: format_.name)
def test_each_text_is_there_once_and_bare(format_: Format) -> None:
    """As a tokenizer has them."""
    texts = marker_texts(format_)
    assert len(texts) == len(set(texts))
    assert all(text == text.strip() != "" for text in texts)
