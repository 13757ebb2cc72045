"""Parts that a provider wants to hear again."""

from typing import Any

import pytest

from tokenmill.dialects.said_again import EXTRA_BYTES, CallExtras, ReasoningDetails
from tokenmill.events import Part


def text(text: Any, index: int = 0, **more: Any) -> dict[str, Any]:
    return {"type": "reasoning.text", "text": text, "index": index, **more}


def test_what_is_said_of_calls_has_a_cap() -> None:
    """Over all calls of an answer; what is above is left out, and what fits behind it is kept."""
    extras = CallExtras()
    for call, size in (("a", EXTRA_BYTES - 10), ("b", 20), ("c", 5)):
        extras.keep(Part("extra_content", "x" * (size - 2), call))
    extras.keep(Part("extra_content", "of no call"))
    assert [list(extras.of(call)) for call in ("a", "b", "c", "d")] == [["extra_content"], [], ["extra_content"], []]
    assert extras.size == EXTRA_BYTES - 5


@pytest.mark.parametrize(
    ("fragments", "expected"),
    [
        ([text("a"), text("b")], [text("ab")]),
        ([text("a"), text(None, signature="s")], [text("a", signature="s")]),
        ([text("", format=None), text("b", format="f")], [text("b", format="f")]),
        ([text("a"), text("b", 1), text("c")], [text("a"), text("b", 1), text("c")]),
        (
            [{"type": "reasoning.summary", "summary": "a"}, {"type": "reasoning.summary", "summary": "b"}],
            [{"type": "reasoning.summary", "summary": "ab"}],
        ),
        (
            [{"type": "reasoning.encrypted", "data": "a"}, {"type": "reasoning.encrypted", "data": "b"}],
            [{"type": "reasoning.encrypted", "data": "a"}, {"type": "reasoning.encrypted", "data": "b"}],
        ),
        ([{"": "a"}, {"": "b", "type": ["x"]}], [{"": "a"}, {"": "b", "type": ["x"]}]),
    ],
    ids=str,
)
def test_fragments_of_one_text_are_one(fragments: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Of the same type and index, if none is between; null says nothing."""
    details = ReasoningDetails()
    for fragment in fragments:
        details.add(fragment, lambda _: True)
    assert details.plain() == expected


def test_a_fragment_without_room_leaves_no_trace() -> None:
    """Nothing of it is kept, neither its text nor its signature."""
    details = ReasoningDetails()
    details.add(text("a"), lambda _: True)
    for fragment in (text("b", signature="s"), {"type": "x"}):
        details.add(fragment, lambda _: False)
    assert details.plain() == [text("a")]
