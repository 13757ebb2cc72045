"""Codec `native`: one chunk per record, as JSON or, with header `content-type: application/msgpack`, as MessagePack."""

import json
from collections.abc import Sequence

import msgspec

from tokenmill.codecs.chunk import Chunk
from tokenmill.codecs.plain import SHALLOW_BYTES, check_depth, check_plain
from tokenmill.errors import NOT_JSON, Undecodable
from tokenmill.parser.values.repair import HALF_PAIR, whole_characters
from tokenmill.records import InputRecord, Record, header

CONTENT_TYPE = "content-type"
MSGPACK = b"application/msgpack"

_json = msgspec.json.Decoder(Chunk)
_msgpack = msgspec.msgpack.Decoder(Chunk)


class NativeCodec:
    """Reads the service's own chunks."""

    name = "native"
    summary = "tokenmill's own chunks: JSON, or MessagePack with the header content-type: application/msgpack"
    sample: Sequence[InputRecord] = tuple(
        InputRecord("tokens", 0, offset, 1_760_000_000_000 + offset, b"c1", value)
        for offset, value in enumerate(
            (
                b'{"message_id":"m1","seq":0,"open":{"format":"hermes"},"delta":"Hel"}',
                b'{"message_id":"m1","seq":1,"delta":"lo"}',
                b'{"message_id":"m1","seq":2,"finish_reason":"stop"}',
            )
        )
    )

    def decode(self, state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
        """The record's chunk. No state is kept."""
        value, headers = record.value, record.headers
        if value is None:
            raise Undecodable("the value is null; a native chunk is a JSON object")
        packed = headers and header(headers, CONTENT_TYPE) == MSGPACK
        if len(value) > SHALLOW_BYTES and not packed:
            check_depth(value, "a native chunk")
        try:
            chunk = _msgpack.decode(value) if packed else _json.decode(value)
        except NOT_JSON as problem:
            chunk = _with_half_pairs(value, problem)
        if chunk.open or chunk.tool_calls or chunk.part is not None or chunk.usage:
            _check_free_fields(chunk)
        if chunk.finish_reason is not None and not isinstance(chunk.end, bool):
            chunk = msgspec.structs.replace(chunk, end=True)
        return state, (chunk,)


def _with_half_pairs(value: bytes, problem: Exception) -> Chunk:
    """A chunk whose producer cut the text inside a surrogate pair; the halves become U+FFFD. Raises `Undecodable`."""
    try:
        if HALF_PAIR.search(value):
            return msgspec.convert(whole_characters(json.loads(value)), Chunk)
    except (ValueError, RecursionError):
        pass
    raise Undecodable(f"not a native chunk: {problem}") from problem


def _check_free_fields(chunk: Chunk) -> None:
    """Raise `Undecodable` if a field of free content holds some that can't be published or kept."""
    part = chunk.part.value if chunk.part is not None else None
    fields = {"open": chunk.open, "tool_calls": chunk.tool_calls, "part": part, "usage": chunk.usage}
    for name, value in fields.items():
        if value is not None:  # most are None, and each chunk of a call comes here
            check_plain(value, name)


NATIVE = NativeCodec()
