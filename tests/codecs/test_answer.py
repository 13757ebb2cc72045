"""What comes out of a record for the one answer of a stream."""

import msgspec
import pytest

from tokenmill.codecs import Chunk, ProviderPart
from tokenmill.codecs.answer import Answer
from tokenmill.errors import Undecodable


def test_chunks_are_of_the_answer() -> None:
    """Under its id, or of the unnamed message where it has none."""
    for named, expected in (("m1", "m1"), ("", None)):
        answer = Answer(named)
        answer.put(delta="a")
        assert answer.chunks == [Chunk(message_id=expected, delta="a")]


def test_calls_are_deltas_of_the_providers_tool_stream() -> None:
    """In the one shape that chunks have for them, with what is known."""
    answer = Answer("m1")
    answer.call(2, id="c", name="f")
    answer.call(2, arguments="{}")
    assert [chunk.tool_calls for chunk in answer.chunks] == [
        [{"index": 2, "id": "c", "function": {"name": "f"}}],
        [{"index": 2, "function": {"arguments": "{}"}}],
    ]


def test_a_failure_ends_the_answer() -> None:
    """With the reason."""
    answer = Answer("m1")
    answer.fail("overloaded")
    assert answer.chunks == [Chunk(message_id="m1", error="overloaded", finish_reason="error", end=True)]
    answer.fail("overloaded", 529)
    assert answer.chunks[1] == msgspec.structs.replace(answer.chunks[0], error_status=529)


def test_what_cannot_be_kept_is_refused() -> None:
    """Before anything comes out."""
    answer = Answer("m1")
    with pytest.raises(Undecodable, match="citation"):
        answer.part("citation", 1 << 70)
    with pytest.raises(Undecodable, match="usage"):
        answer.usage({"n": 1 << 70})
    assert answer.chunks == []
    answer.part("citation", {"url": "u"})
    assert answer.chunks == [Chunk(message_id="m1", part=ProviderPart("citation", {"url": "u"}))]


def test_an_answer_is_open_from_its_first_chunk_to_its_end() -> None:
    """What is not open does not end; empty content opens nothing."""
    answer = Answer("m1")
    answer.end()
    answer.part("images", [])
    assert (answer.chunks, answer.open) == ([], False)
    answer.put(delta="a")
    assert answer.open
    answer.end(finish_reason="stop")
    answer.end()
    assert answer.chunks == [Chunk(message_id="m1", delta="a"), Chunk(message_id="m1", finish_reason="stop", end=True)]
    assert not answer.open


def test_an_answer_may_be_open_from_the_record_before() -> None:
    """Its codec remembers it; a failure ends it, too."""
    answer = Answer("m1", is_open=True)
    answer.fail("overloaded")
    answer.end()
    assert [chunk.error for chunk in answer.chunks] == ["overloaded"]
