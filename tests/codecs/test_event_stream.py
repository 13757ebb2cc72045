"""What codecs of typed events have in common, in a protocol of the smallest size."""

from typing import Any

import msgspec
import pytest

from tokenmill.codecs import Chunk
from tokenmill.codecs.event_stream import AnswerState, EventStream
from tokenmill.errors import Undecodable
from tokenmill.records import InputRecord


class Noted(AnswerState, array_like=True):
    words: int = 0


class Words(EventStream[Noted]):
    """`begin` names a message, every other type is a word of it."""

    def read(self, event: dict[str, Any]) -> None:
        if event["type"] == "begin":
            self.begin(event.get("id", ""))
            self.answer.put(open={})
        else:
            self.state.words += 1
            self.answer.put(delta=event["type"])


def fed(remembered: bytes, value: bytes | None, *headers: tuple[str, bytes]) -> Words:
    """The stream after a record."""
    stream = Words(
        msgspec.msgpack.Decoder(Noted), remembered, InputRecord("tokens", 0, 0, 0, b"c", value, list(headers))
    )
    stream.read_record(value, "a word")
    return stream


def test_what_is_open_is_remembered_from_record_to_record() -> None:
    """With all that the protocol notes of it."""
    first = fed(b"", b'{"type":"begin","id":"m1"}')
    second = fed(first.remembered(), b'{"type":"a"}')
    third = fed(second.remembered(), b'data: {"type":"b"}\n\ndata: {"type":"c"}\n\n')
    assert (third.state.words, third.state.id) == (3, "m1")
    assert third.answer.chunks == [Chunk(message_id="m1", delta="b"), Chunk(message_id="m1", delta="c")]


@pytest.mark.parametrize("value", [b"[DONE]", b"data: [DONE]\n\n", None])
def test_the_end_is_that_of_the_open_message(value: bytes | None) -> None:
    """Behind it nothing is remembered; where none is open nothing ends."""
    stream = fed(fed(b"", b'{"type":"begin","id":"m1"}').remembered(), value)
    assert stream.answer.chunks == [Chunk(message_id="m1", end=True)]
    assert stream.remembered() == b""
    assert fed(b"", value).answer.chunks == []


def test_a_message_without_an_id_is_the_one_that_the_header_names() -> None:
    """Or the conversation's unnamed one."""
    named = fed(b"", b'{"type":"a"}', ("tm-message-id", b"m7"))
    assert [chunk.message_id for chunk in (*named.answer.chunks, *fed(b"", b'{"type":"a"}').answer.chunks)] == [
        "m7",
        None,
    ]


def test_what_is_no_event_is_refused_by_its_name() -> None:
    """The whole record."""
    with pytest.raises(Undecodable, match="not a word"):
        fed(b"", b'data: {"type":"a"}\n\ndata: {}\n\n')
