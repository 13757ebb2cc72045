"""Where Kafka is slow an answer is read less often, and what came meanwhile becomes one chunk."""

import pytest
from msgspec import UNSET

from tokenmill.caller.pace import LEAST_S, MOST_S, TIMES, joined, pause_s
from tokenmill.codecs import Chunk, ProviderPart


@pytest.mark.parametrize(
    ("acknowledged_s", "expected"),
    [(0.0, 0.0), (0.0005, 0.0), (LEAST_S / TIMES, LEAST_S), (0.004, 0.032), (0.02, MOST_S), (9.0, MOST_S)],
)
def test_the_pause_grows_with_the_time_of_an_acknowledgement(acknowledged_s: float, expected: float) -> None:
    assert pause_s(acknowledged_s) == pytest.approx(expected)


def test_text_of_a_choice_becomes_one_chunk() -> None:
    """Under the names of the first one."""
    chunks = [Chunk(message_id="a", choice=1, delta=text, model="m") for text in ("Hel", "lo", " you")]
    assert joined(chunks) == [Chunk(message_id="a", choice=1, delta="Hello you", model="m")]


def test_reasoning_stays_in_front_of_the_text() -> None:
    """A chunk's reasoning counts before its text."""
    chunks = [Chunk(reasoning="w"), Chunk(reasoning="hy"), Chunk(delta="so"), Chunk(reasoning="but"), Chunk(delta="!")]
    assert joined(chunks) == [Chunk(reasoning="why", delta="so"), Chunk(reasoning="but", delta="!")]


def test_choices_are_not_mixed() -> None:
    chunks = [Chunk(choice=0, delta="a"), Chunk(choice=1, delta="b"), Chunk(choice=0, delta="c")]
    assert joined(chunks) == chunks


@pytest.mark.parametrize(
    "other",
    [
        Chunk(delta="b", tool_calls=[{"index": 0}]),
        Chunk(delta="b", part=ProviderPart("refusal", "no")),
        Chunk(delta="b", usage={"total_tokens": 1}),
        Chunk(delta="b", finish_reason="stop"),
        Chunk(delta="b", end=True),
        Chunk(delta="b", end=False),
        Chunk(delta="b", control="cancel"),
        Chunk(delta="b", error="failed"),
        Chunk(delta="b", open={}),
    ],
    ids=lambda chunk: str([name for name in chunk.__struct_fields__ if getattr(chunk, name) not in ("", UNSET, None)]),
)
def test_what_says_more_stays_alone(other: Chunk) -> None:
    """Wherever it stands."""
    chunks = [Chunk(delta="a"), other, Chunk(delta="c")]
    assert joined(chunks) == chunks


def test_a_piece_of_one_chunk_is_left_as_it_is() -> None:
    chunks = [Chunk(delta="a")]
    assert joined(chunks) is chunks
    assert joined([]) == []
