"""Codec `qwen_sse`."""

import json
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from tests.support.parsing import all_cuts
from tokenmill.codecs import Chunk
from tokenmill.codecs.sse import EVENT_BYTES
from tokenmill.records import InputRecord
from tokenmill.systems.qwen_web.qwen_sse import QWEN_SSE

END = None
"""A record with a null value."""


def decode(*values: bytes | None, headers: list[tuple[str, bytes]] | None = None) -> list[Chunk]:
    """All chunks; nothing is left to remember where the message has ended."""
    state, chunks = b"", list[Chunk]()
    for offset, value in enumerate(values):
        state, more = QWEN_SSE.decode(state, InputRecord("tokens", 0, offset, 0, b"c", value, headers or []))
        chunks += more
    if not values or values[-1] is END:
        assert state == b""
    return chunks


def event(**fields: Any) -> bytes:
    """One event of the stream."""
    return b"data: " + json.dumps(fields, ensure_ascii=False).encode() + b"\n\n"


def delta(content: Any, **fields: Any) -> dict[str, Any]:
    """`choices` of an event."""
    return {"choices": [{"delta": {"content": content, **fields}}]}


CREATED = event(**{"response.created": {"chat_id": "c1", "parent_id": "p1", "response_id": "r1"}})
FINISHED = delta("", phase="answer", status="finished")


def summary(chunks: Iterable[Chunk]) -> dict[str, Any]:
    """What the chunks say, however it was cut."""
    chunks = list(chunks)
    return {
        "ids": sorted({chunk.message_id or "" for chunk in chunks}),
        "reasoning": "".join(chunk.reasoning or "" for chunk in chunks),
        "text": "".join(chunk.delta or "" for chunk in chunks),
        "parts": [chunk.part.value for chunk in chunks if chunk.part],
        "usage": [chunk.usage for chunk in chunks if chunk.usage],
        "reasons": [chunk.finish_reason for chunk in chunks if chunk.finish_reason],
        "errors": [chunk.error for chunk in chunks if chunk.error],
        "ends": sum(chunk.end is True for chunk in chunks),
    }


WHOLE = (
    CREATED
    + event(**delta("hm", phase="think", status="typing"), usage={"input_tokens": 5, "output_tokens": 1})
    + event(**delta("", phase="think", status="finished"))
    + event(**delta("Grüße 😀", phase="answer", status="typing"))
    + event(**delta("!", phase="answer", status="finished"), usage={"input_tokens": 5, "output_tokens": 9})
    + b"data: [DONE]\n\n"
)
WHOLE_SUMMARY = {
    "ids": ["r1"],
    "reasoning": "hm",
    "text": "Grüße 😀!",
    "parts": [{"chat_id": "c1", "parent_id": "p1", "response_id": "r1"}],
    "usage": [{"input_tokens": 5, "output_tokens": 1}, {"input_tokens": 5, "output_tokens": 9}],
    "reasons": ["stop"],
    "errors": [],
    "ends": 1,
}


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_a_whole_answer_at_every_cut(line_end: bytes) -> None:
    """Metadata, thinking whose end is not the answer's, text in the finishing event, usage, one end."""
    stream = WHOLE.replace(b"\n", line_end)
    for cut in ([stream.decode("latin-1")], *all_cuts(stream.decode("latin-1"))):
        pieces = [piece.encode("latin-1") for piece in cut]
        assert summary(decode(*pieces, END)) == WHOLE_SUMMARY


def test_the_message_ends_with_its_marker_once_usage_is_known() -> None:
    """The server closes the connection and says no more; a second marker or `[DONE]` has no effect."""
    usage = {"input_tokens": 5, "output_tokens": 1}
    said = decode(event(**delta("a"), usage=usage), event(**FINISHED))
    assert summary(said)["ends"] == 1
    assert said == decode(event(**delta("a"), usage=usage), event(**FINISHED), event(**FINISHED), b"data: [DONE]\n")
    assert summary(decode(event(**delta("a")), event(**FINISHED)))["ends"] == 0
    late = decode(event(**delta("a")), event(**FINISHED), event(choices=[], usage=usage))
    assert summary(late) == summary(said)


@pytest.mark.parametrize("end", [b"data: [DONE]\n\n", b"data:[DONE]", END], ids=["DONE", "no line end", "null"])
def test_a_message_without_marker_ends_with_the_stream(end: bytes | None) -> None:
    """Nothing of it is lost, not even a last line without its end."""
    stream = b"".join((event(**delta("a")), b'data:{"choices":[{"delta":{"content":"b"}}]}'))
    said = summary(decode(stream + b"\n", end, END))
    assert (said["text"], said["ends"], said["ids"]) == ("ab", 1, [""])
    said = summary(decode(stream, END))
    assert (said["text"], said["ends"]) == ("ab", 1)


def test_lines_need_no_blank_ones_between_them() -> None:
    """Nor a blank behind the colon."""
    lines = b'data: {"choices":[{"delta":{"content":"a"}}]}\ndata:{"choices":[{"delta":{"content":"b"}}]}\n'
    assert summary(decode(lines))["text"] == "ab"


@pytest.mark.parametrize(
    "junk",
    [
        b"data: {oops}\n\n",
        b"data: {oops}\n",
        b"data: 5\n\n",
        b"data: [1]\n\n",
        b": ping\n\nevent: message\n",
        b"id: 1\nretry: 5\n\n",
        b"\xff\xfe\n",
        b'{"choices":[{"delta":{"content":"x"}}]}\n',
        event(choices=None),
        event(choices=[5]),
        event(choices=[{"delta": None}]),
        event(**delta(5)),
        event(**delta({"a": 1})),
        event(choices=[], usage={"input_tokens": 1}),
        event(choices=[], usage=[1]),
        event(**{"response.created": "x"}),
        event(usage={"n": 2**70}),
    ],
)
def test_what_is_no_event_is_skipped(junk: bytes) -> None:
    """The stream goes on, and nothing opens a message that brings nothing."""
    assert decode(junk) == []
    assert summary(decode(junk, event(**delta("ok")), END))["text"] == "ok"


@pytest.mark.parametrize(
    ("frame", "error"),
    [
        (event(error={"message": "overloaded", "code": 503}), "overloaded: 503"),
        (event(error="gone"), "gone"),
        (event(success=False, data={"code": "RateLimited", "details": "too many"}), "too many: RateLimited"),
        (b'{"success":false,"data":{"code":"Bad_Request"}}\n', "Bad_Request"),
        (event(success=False), "the request failed"),
        (event(error={"odd": 1}), "the request failed"),
    ],
)
def test_an_error_ends_the_message(frame: bytes, error: str) -> None:
    """In the middle of an answer, or in place of one; what came before is kept."""
    said = summary(decode(CREATED, event(**delta("a")), frame))
    assert (said["text"], said["errors"], said["reasons"], said["ends"]) == ("a", [error], ["error"], 1)
    alone = summary(decode(frame))
    assert (alone["errors"], alone["reasons"], alone["ends"]) == ([error], ["error"], 1)


def test_the_next_answer_ends_the_one_before() -> None:
    """Two answers on one stream do not run together."""
    second = event(**{"response.created": {"response_id": "r2"}})
    chunks = decode(CREATED, event(**delta("a")), second, event(**delta("b")), END)
    assert [(chunk.message_id, chunk.delta or "", chunk.end is True) for chunk in chunks if not chunk.part] == [
        ("r1", "a", False),
        ("r1", "", True),
        ("r2", "b", False),
        ("r2", "", True),
    ]


def test_a_message_without_an_id_is_named_by_the_header() -> None:
    """As in the codec `text`; an id that could not be published is none."""
    named = decode(event(**delta("a")), END, headers=[("tm-message-id", b"m7")])
    assert {chunk.message_id for chunk in named} == {"m7"}
    long = event(**{"response.created": {"response_id": "x" * 2_000}})
    assert {chunk.message_id for chunk in decode(long, END)} == {None}


def test_an_event_that_is_too_long_is_told() -> None:
    """P8: it is left out, and the answer goes on."""
    chunks = decode(event(**delta("a")), event(**delta("x" * EVENT_BYTES)), event(**delta("b")), END)
    assert summary(chunks)["text"] == "ab"
    assert summary(chunks)["errors"] == [f"an event has more than {EVENT_BYTES} bytes; it is left out"]


def test_no_state_is_kept_between_answers() -> None:
    """What is kept holds the log back."""
    state, _ = QWEN_SSE.decode(b"", InputRecord("t", 0, 0, 0, b"c", WHOLE))
    assert state == b""
    state, _ = QWEN_SSE.decode(b"", InputRecord("t", 0, 0, 0, b"c", event(**delta("a"))))
    assert msgspec.msgpack.decode(state)
