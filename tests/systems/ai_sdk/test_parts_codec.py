"""Codec `ai_sdk_parts`."""

import json
from typing import Any

import pytest

from tokenmill.codecs import Chunk, ProviderPart
from tokenmill.errors import Undecodable
from tokenmill.records import InputRecord
from tokenmill.systems.ai_sdk.parts_codec import AI_SDK_PARTS


def decode(part: Any, headers: list[tuple[str, bytes]] | None = None) -> list[Chunk]:
    """The chunks of a record with this part, or with these bytes."""
    value = part if isinstance(part, bytes | None) else json.dumps(part).encode()
    state, chunks = AI_SDK_PARTS.decode(b"", InputRecord("tokens", 0, 0, 0, b"c", value, headers or []))
    assert state == b""
    return list(chunks)


def test_text_runs_through_the_format() -> None:
    """What begins and ends its blocks says nothing more."""
    parts = [
        {"type": "text-start", "id": "0"},
        {"type": "text-delta", "id": "0", "delta": "a"},
        {"type": "text-end", "id": "0"},
    ]
    assert [chunk for part in parts for chunk in decode(part)] == [Chunk(delta="a")]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "reasoning-delta", "id": "r", "delta": "hm", "providerMetadata": {"x": {"signature": "s"}}},
        {"type": "source", "sourceType": "url", "id": "s", "url": "https://example.org"},
        {"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": "{}"},
        {"type": "error", "error": {"name": "AI_Error", "message": "m"}},
    ],
)
def test_other_parts_pass_unchanged(part: dict[str, Any]) -> None:
    """In their place, as `part` events."""
    assert decode(part) == [Chunk(part=ProviderPart(part["type"], part))]


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        ("length", "length"),
        ({"unified": "stop", "raw": "end_turn"}, "end_turn"),
        ({"unified": "length", "raw": "LIMIT_REACHED"}, "length"),
        ({"unified": "stop"}, "stop"),
        ({"unified": "stop", "raw": None}, "stop"),
        ({"raw": "end_turn"}, "end_turn"),
        ({}, None),
        (None, None),
        (7, None),
    ],
)
def test_the_reason_is_the_providers_where_it_is_understood(reason: Any, kept: str | None) -> None:
    """Else the unified one; early versions of the SDK have a string."""
    (chunk,) = decode({"type": "finish", "finishReason": reason, "usage": {"totalTokens": 2}})
    assert chunk == Chunk(finish_reason=kept, usage={"totalTokens": 2}, end=True)


def test_a_null_value_ends_the_message() -> None:
    """As in the codec `text`; an empty one says nothing."""
    assert decode(None, [("tm-message-id", b"m")]) == [Chunk(message_id="m", end=True)]
    assert decode(b"", [("tm-message-id", b"m")]) == []


@pytest.mark.parametrize("value", [b"", b"x", b"[]", b'"a"', b"{}", b'{"type":1}', b"\xff", b"[" * 2000])
def test_what_is_no_part_is_refused(value: bytes) -> None:
    """It goes to the dead letters."""
    with pytest.raises(Undecodable):
        AI_SDK_PARTS.decode(b"", InputRecord("tokens", 0, 0, 0, b"c", value or b" ", []))


def test_what_a_snapshot_cannot_hold_is_refused() -> None:
    """Integers of more than 64 bits."""
    with pytest.raises(Undecodable, match="64 bits"):
        decode({"type": "raw", "rawValue": 2**70})


def test_a_delta_may_be_anything() -> None:
    """What is no text is none; half a surrogate pair becomes U+FFFD."""
    assert decode({"type": "text-delta", "delta": 5}) == [Chunk()]
    assert decode(b'{"type":"text-delta","delta":"a\\ud83d"}') == [Chunk(delta="a\N{REPLACEMENT CHARACTER}")]
