"""What a tool answered as a text."""

from typing import Any

import pytest
from msgspec import UNSET

from tokenmill.dialects.results import result_text
from tokenmill.events import ToolResult

TEXT = {"type": "text", "text": "a"}
IMAGE = {"type": "image", "data": "", "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("as it is", "as it is"),
        ({"content": [TEXT, {**TEXT, "text": "b"}]}, "a\nb"),
        ({"content": [TEXT], "structuredContent": {"a": 1}}, "a"),
        (
            {"content": [TEXT, IMAGE]},
            '{"content":[{"type":"text","text":"a"},{"type":"image","data":"","mimeType":"image/png"}]}',
        ),
        ({"content": []}, '{"content":[]}'),
        ({"content": ["a"]}, '{"content":["a"]}'),
        ({"content": [{"type": "text", "text": 1}]}, '{"content":[{"type":"text","text":1}]}'),
        ([1, 2], "[1,2]"),
        (None, "null"),
        (UNSET, "null"),
    ],
)
def test_a_result_is_a_text(result: Any, text: str) -> None:
    """Texts alone are shown as such; everything else would lose something."""
    assert result_text(ToolResult("c", "f", result)) == text


def test_an_error_is_its_words() -> None:
    """There is no result then."""
    assert result_text(ToolResult("c", "f", error="no")) == "no"
