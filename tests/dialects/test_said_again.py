"""Parts that a provider wants to hear again."""

from typing import Any

import pytest

from tokenmill.dialects.said_again import (
    DETAIL_BYTES,
    DETAILS_BYTES,
    EXTRA_BYTES,
    PLACE_CHARS,
    CallExtras,
    Places,
    ReasoningDetails,
)
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


def test_what_is_said_first_of_a_call_is_kept() -> None:
    """Of two calls with one id the first one has it; what comes again takes no room."""
    extras = CallExtras()
    for value in ("s", "t", "s"):
        extras.keep(Part("extra_content", value, "a"))
    assert (extras.of("a"), extras.size) == ({"extra_content": "s"}, len('"s"'))


@pytest.mark.parametrize(
    ("fragments", "expected"),
    [
        ([text("a"), text("b")], [text("ab")]),
        ([text("a"), text(None, signature="s")], [text("a", signature="s")]),
        ([text("", format=None), text("b", format="f")], [text("b", format="f")]),
        ([text("a"), text("b", 1), text("c")], [text("a"), text("b", 1), text("c")]),
        ([text("a", id="1"), text("b", id="2")], [text("a", id="1"), text("b", id="2")]),
        ([text("a"), text("b", id="1"), text("c", id=None)], [text("abc", id="1")]),
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
    """Of the same type, index and id, if none is between; null says nothing."""
    details = ReasoningDetails()
    for fragment in fragments:
        details.add(fragment)
    assert details.plain() == expected


def test_without_room_no_fragment_is_left() -> None:
    """Neither those before nor those behind: a provider refuses a part of them."""
    details = ReasoningDetails()
    details.add(text("a" * (DETAILS_BYTES - DETAIL_BYTES - 100)))
    assert details.known
    for fragment in (text("b" * 100, signature="s"), text("c"), {"type": "x"}):
        details.add(fragment)
        assert (details.plain(), details.memory) == ([], 0)


def test_small_fragments_take_room_too() -> None:
    """As much as they take in memory, whatever their JSON is."""
    details = ReasoningDetails()
    for index in range(DETAILS_BYTES // DETAIL_BYTES):
        details.add({"type": "reasoning.encrypted", "data": "x", "index": index})
    assert details.known == []


@pytest.mark.parametrize(
    ("fragments", "indexes"),
    [
        ([text("a", 3), text("b", 0)], [3, 0]),
        ([{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.text", "text": "b"}], [0, 0]),
        ([{"type": "reasoning.text", "id": "1"}, {"type": "reasoning.text", "id": "2"}], [0, 1]),
        ([{"type": "reasoning.summary"}, {"type": "reasoning.text"}, {"type": "reasoning.summary"}], [0, 1, 2]),
        ([{"type": "reasoning.encrypted"}, {"type": "reasoning.encrypted"}, {}, {"type": ["x"]}], [0, 1, 2, 3]),
        ([{"type": "reasoning.text"}, text("a", 4), {"type": "reasoning.text"}], [0, 4, 5]),
        ([{"type": "reasoning.text", "index": index} for index in (None, "1", True, -1, 1.0, 2**70)], [0] * 6),
        ([{"type": "reasoning.text", "id": "x" * PLACE_CHARS + end} for end in "ab"], [0, 0]),
    ],
    ids=lambda value: str(value)[:80],
)
def test_each_fragment_of_a_stream_has_a_number(fragments: list[dict[str, Any]], indexes: list[int]) -> None:
    """Its own, or that of its place: behind all others, or of the text that it continues. What is none is left out."""
    together, places = Places().numbered([None, *fragments, "x"]), Places()
    assert together == [fragment | {"index": index} for fragment, index in zip(fragments, indexes, strict=True)]
    assert [numbered for fragment in fragments for numbered in places.numbered([fragment])] == together
