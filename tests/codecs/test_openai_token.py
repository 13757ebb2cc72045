"""The short way of `openai`: which chunks it takes, with the same result as the long way."""

from typing import Any

import msgspec
import pytest

from tokenmill.codecs import Chunk, find_codec
from tokenmill.codecs.openai_token import token_of
from tokenmill.errors import RecordError
from tokenmill.limits import KEY_BYTES
from tokenmill.records import InputRecord

BEGUN = [{"id": "a", "model": "m", "choices": [{"index": index, "delta": {"content": "Hi"}}]} for index in (0, 1)] + [
    {"id": "b", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}
]
"""Two answers of one stream: of `a` two choices have begun, of `b` none has said anything."""

PLAIN: dict[str, Any] = {"id": "a", "object": "chat.completion.chunk", "created": 1, "model": "m"}
TEXT: dict[str, Any] = {"index": 0, "delta": {"content": "text"}, "logprobs": None, "finish_reason": None}

TOKENS: dict[str, Any] = {
    "text": PLAIN | {"choices": [TEXT]},
    "other choice": PLAIN | {"choices": [TEXT | {"index": 1}]},
    "reasoning": PLAIN | {"choices": [TEXT | {"delta": {"reasoning": "why", "content": None}}]},
    "reasoning_content": PLAIN | {"choices": [TEXT | {"delta": {"reasoning_content": "why", "reasoning": ""}}]},
    "both": PLAIN | {"choices": [TEXT | {"delta": {"reasoning_content": "why", "content": "text"}}]},
    "nulls": PLAIN | {"usage": None, "choices": [TEXT | {"delta": {"content": "x", "role": None, "tool_calls": None}}]},
    "long model": PLAIN | {"model": "m" * 1_000, "choices": [TEXT]},
    "empty model": PLAIN | {"model": "", "choices": [TEXT]},
    "no model": {"id": "a", "choices": [TEXT]},
}
"""What the short way takes."""

OTHERS: dict[str, Any] = {
    "new choice": PLAIN | {"choices": [TEXT | {"index": 2}]},
    "silent choice": PLAIN | {"id": "b", "choices": [TEXT]},
    "new answer": PLAIN | {"id": "c", "choices": [TEXT]},
    "no id": {"choices": [TEXT]},
    "empty id": PLAIN | {"id": "", "choices": [TEXT]},
    "long id": PLAIN | {"id": "a" * (KEY_BYTES + 1), "choices": [TEXT]},
    "two choices": PLAIN | {"choices": [TEXT, TEXT | {"index": 1}]},
    "no choice": PLAIN | {"choices": []},
    "empty": PLAIN | {"choices": [TEXT | {"delta": {"content": ""}}]},
    "finish": PLAIN | {"choices": [TEXT | {"finish_reason": "stop"}]},
    "empty finish": PLAIN | {"choices": [TEXT | {"finish_reason": ""}]},
    "usage": PLAIN | {"usage": {"total_tokens": 1}, "choices": [TEXT]},
    "error": PLAIN | {"error": {"message": "no"}, "choices": [TEXT]},
    "moderation": PLAIN | {"moderation": {"flagged": True}, "choices": [TEXT]},
    "x_groq": PLAIN | {"x_groq": {"usage": {"total_tokens": 1}}, "choices": [TEXT]},
    "call": PLAIN | {"choices": [TEXT | {"delta": {"content": "x", "tool_calls": [{"index": 0}]}}]},
    "part": PLAIN | {"choices": [TEXT | {"delta": {"content": "x", "refusal": "no"}}]},
    "items": PLAIN | {"choices": [TEXT | {"delta": {"content": [{"type": "text", "text": "x"}]}}]},
    "whole": PLAIN | {"object": "chat.completion", "choices": [TEXT]},
    "plain completion": PLAIN | {"choices": [{"index": 0, "text": "x"}]},
    "index of another type": PLAIN | {"choices": [TEXT | {"index": True}]},
    "negative index": PLAIN | {"choices": [TEXT | {"index": -1}]},
}
"""Chunks that it leaves to the long way: with more content, with less, or wrong ones."""

RAW = {
    "data line": b'data: {"id":"a","choices":[{"index":0,"delta":{"content":"x"}}]}',
    "half a pair": b'{"id":"a","choices":[{"index":0,"delta":{"content":"\\ud83d"}}]}',
    "not UTF-8": b'{"id":"a","choices":[{"index":0,"delta":{"content":"\xff"}}]}',
    "cut off": b'{"id":"a","choices":[{"index":0,"delta":{"content":"x"',
    "twice": b'{"id":"b","id":"a","choices":[{"index":0,"delta":{"content":"x","content":"y"}}]}',
    "spaces": b' {"id": "a", "choices": [{"index": 0, "delta": {"content": "x"}}]}\n',
    "done": b"[DONE]",
    "deep": b'{"id":"a","choices":[{"index":0,"delta":{"content":"x"}}],"x":%b%b}' % (b"[" * 300, b"]" * 300),
}


RECORDS = {name: msgspec.json.encode(payload) for name, payload in (TOKENS | OTHERS).items()} | RAW


def told(codec: str, value: bytes) -> tuple[bytes, list[Chunk]] | str:
    """State and chunks of a record after `BEGUN`, or the reason why it can't be read."""
    state, read = b"", find_codec(codec).decode
    for payload in BEGUN:
        begun = msgspec.json.encode(payload)
        state, _ = read(state, record(begun if codec == "openai" else b"data: %b\n\n" % begun))
    try:
        state, chunks = read(state, record(value))
    except RecordError as problem:
        return str(problem)
    return state, list(chunks)


def record(value: bytes) -> InputRecord:
    return InputRecord("tokens", 0, 0, 0, b"c", value)


@pytest.mark.parametrize("name", RECORDS)
def test_both_ways_say_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks, state and errors; also inside SSE, where the long way is reached in two pieces, too."""
    value = RECORDS[name]
    event = b"data: %b\n\n" % value.strip()
    found = told("openai", value), told("sse+openai", event)
    monkeypatch.setattr("tokenmill.codecs.openai.token_of", lambda _: None)
    monkeypatch.setattr("tokenmill.codecs.sse_stream.whole_events", lambda _: None)
    assert found == (told("openai", value), told("sse+openai", event))


@pytest.mark.parametrize("name", TOKENS)
def test_tokens_go_the_short_way(name: str) -> None:
    """And give the same result as on the long one."""
    value = msgspec.json.encode(TOKENS[name])
    token, found = token_of(value), told("openai", value)
    assert token is not None
    assert not isinstance(found, str)
    assert found[1] == [token.chunk]
