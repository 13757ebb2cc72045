"""What comes out of a record for the one answer of a stream."""

import pytest

from tokenmill.codecs import Chunk, ProviderPart
from tokenmill.codecs.answer import Answer
from tokenmill.errors import Undecodable


def test_chunks_are_under_the_id_of_the_answer() -> None:
    """Without one they are the unnamed message's."""
    named, unnamed = Answer("m1"), Answer("")
    for answer in (named, unnamed):
        answer.put(delta="a")
    assert (named.chunks, unnamed.chunks) == ([Chunk(message_id="m1", delta="a")], [Chunk(delta="a")])


def test_a_call_begins_with_its_id_and_name() -> None:
    """As deltas of OpenAI's have them; what follows has only arguments."""
    answer = Answer("m1")
    answer.call(0, id="call_1", name="f")
    answer.call(0, arguments="{}")
    assert [chunk.tool_calls for chunk in answer.chunks] == [
        [{"index": 0, "id": "call_1", "function": {"name": "f"}}],
        [{"index": 0, "function": {"arguments": "{}"}}],
    ]


def test_other_content_is_a_part_if_it_can_be_kept() -> None:
    """An integer of more than 64 bits can't."""
    answer = Answer("m1")
    answer.part("signature", "c2ln")
    assert answer.chunks == [Chunk(message_id="m1", part=ProviderPart("signature", "c2ln"))]
    for refused in (lambda: answer.part("x", 1 << 64), lambda: answer.usage({"n": 1 << 64})):
        with pytest.raises(Undecodable):
            refused()


def test_a_failure_ends_the_answer() -> None:
    """With what the provider said."""
    answer = Answer("m1")
    answer.fail("overloaded")
    assert answer.chunks == [Chunk(message_id="m1", error="overloaded", finish_reason="error", end=True)]
