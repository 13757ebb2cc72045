"""Codec `native`."""

from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from tokenmill.codecs import Chunk, ProviderPart
from tokenmill.codecs.native import NATIVE
from tokenmill.errors import Undecodable
from tokenmill.limits import JSON_DEPTH, RECORD_DEPTH
from tokenmill.records import InputRecord

MSGPACK = [("content-type", b"application/msgpack")]

FULL: dict[str, Any] = {
    "conversation_id": "c",
    "message_id": "m",
    "choice": 1,
    "seq": 3,
    "open": {"format": "hermes"},
    "reasoning": "r",
    "delta": "d",
    "tool_calls": [{"index": 0, "function": {"arguments": "{"}}],
    "part": {"kind": "signature", "value": [1, None, True, 1.5, "x"], "id": "p"},
    "usage": {"output_tokens": 4},
    "finish_reason": "stop",
    "end": False,
    "control": "cancel",
    "error": "e",
}


def decode(value: bytes | None, headers: list[tuple[str, bytes]] | None = None) -> Chunk:
    """The chunk of a record with this value."""
    state, (chunk,) = NATIVE.decode(b"", InputRecord("tokens", 0, 0, 0, b"c", value, headers or []))
    assert state == b""
    return chunk


@pytest.mark.parametrize(("encode", "headers"), [(msgspec.json.encode, []), (msgspec.msgpack.encode, MSGPACK)])
def test_every_field_is_read(encode: Any, headers: list[tuple[str, bytes]]) -> None:
    """From JSON and from MessagePack alike."""
    expected = Chunk(**FULL | {"part": ProviderPart("signature", [1, None, True, 1.5, "x"], "p")})
    assert decode(encode(FULL), headers) == expected


def test_unknown_fields_are_ignored() -> None:
    """A producer may be newer than the worker."""
    assert decode(b'{"delta":"a","colour":{"deep":[1]}}') == Chunk(delta="a")


def test_an_unknown_field_is_as_deep_as_a_record_may_be() -> None:
    """However much of the interpreter's stack is left; its text may have any brackets."""
    for depth, text in ((RECORD_DEPTH - 1, "[" * 900), (RECORD_DEPTH, "a")):
        value = b'{"delta":"%b","colour":%b%b}' % (text.encode(), b"[" * depth, b"]" * depth)
        if depth < RECORD_DEPTH:
            assert decode(value) == Chunk(delta=text)
        else:
            with pytest.raises(Undecodable, match="deep"):
                decode(value)


def test_the_content_type_decides_not_the_bytes() -> None:
    """MessagePack without the header is not JSON."""
    packed = msgspec.msgpack.encode({"delta": "a"})
    assert decode(packed, MSGPACK).delta == "a"
    with pytest.raises(Undecodable):
        decode(packed, [("content-type", b"application/json")])


@pytest.mark.parametrize(
    ("chunk", "end"),
    [
        ({"finish_reason": "stop"}, True),
        ({"finish_reason": "stop", "end": False}, False),
        ({"finish_reason": "stop", "end": True}, True),
        ({"end": True}, True),
        ({"delta": "a"}, UNSET),
    ],
)
def test_a_finish_reason_ends_the_message_unless_end_says_no(chunk: dict[str, Any], end: object) -> None:
    """In this codec; protocols with an end of their own differ."""
    assert decode(msgspec.json.encode(chunk)).end is end


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"{",
        b"[]",
        b"null",
        b"{} {}",
        b'{"delta":1}',
        b'{"delta":"\xff"}',
        b'{"part":{}}',
        b'{"part":{"kind":"x","value":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
        b'{"part":{"kind":"x","value":' + b"[" * (JSON_DEPTH + 1) + b"]" * (JSON_DEPTH + 1) + b"}}",
        b'{"usage":{"n":1e999}}',
        b'{"usage":{"n":99999999999999999999}}',
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_chunk_is_undecodable(value: bytes | None) -> None:
    """Nothing else is raised, whatever stands in the record."""
    with pytest.raises(Undecodable):
        decode(value)


@pytest.mark.parametrize(
    "content",
    [b"bytes", msgspec.msgpack.Ext(5, b"x"), {1: 2}, {None: 1}, 2**63 - 1 + 2**62],
    ids=["bytes", "extension", "number as key", "null as key", "large integer is fine"],
)
def test_messagepack_may_only_say_what_json_can(content: Any) -> None:
    """It is published as JSON."""
    value = msgspec.msgpack.encode({"part": {"kind": "x", "value": [content]}})
    if isinstance(content, int):
        assert decode(value, MSGPACK).part == ProviderPart("x", [content])
    else:
        with pytest.raises(Undecodable):
            decode(value, MSGPACK)


def test_half_a_surrogate_pair_is_a_replacement_character() -> None:
    """Producers that cut their text by UTF-16 units lose that character and nothing else."""
    assert decode(b'{"delta":"a\\ud83d","finish_reason":"stop"}') == Chunk(
        delta="a\ufffd", finish_reason="stop", end=True
    )
    with pytest.raises(Undecodable):
        decode(b'{"delta":"a\\ud83d"')


def test_null_is_the_same_as_absent() -> None:
    """Dumps of other programs' objects are full of nulls."""
    nulls = b",".join(b'"%b":null' % field.encode() for field in Chunk.__struct_fields__ if field != "delta")
    chunk = decode(b'{"delta":"a",' + nulls + b"}")
    assert (chunk.delta, chunk.end is True, bool(chunk.tool_calls), bool(chunk.reasoning)) == ("a", False, False, False)
    assert not decode(b'{"delta":null,"finish_reason":null}').delta
