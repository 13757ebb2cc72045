"""Values as JSON, including those that msgspec refuses to write; dialects write everything that a model can produce."""

import json
from collections.abc import Iterable
from math import isfinite
from typing import Any

import msgspec

PIECE_CHARS = 64 * 1024
"""Characters of text in one payload: as many as in a delta; twice that as JSON inside JSON fits into an output
record."""

_encode = msgspec.json.Encoder().encode


def json_bytes(value: Any) -> bytes:
    """Return a value, or a struct, as compact JSON; never raises on what came out of a parser."""
    try:
        return _encode(value)
    except (OverflowError, UnicodeEncodeError):
        return odd_bytes(value)


def odd_bytes(value: Any) -> bytes:
    """Return as JSON what msgspec refuses: integers of more than 64 bits, and halves of surrogate pairs."""
    plain = _finite(msgspec.to_builtins(value))
    return json.dumps(plain, ensure_ascii=True, separators=(",", ":")).encode()


def _finite(value: Any) -> Any:
    """Return the value with null for what JSON can't express (NaN, infinities), as msgspec writes it."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value


def json_size(text: str) -> int:
    """Return the bytes of a text inside a JSON string."""
    return len(json_bytes(text)) - 2


def beginning(text: str, room: int) -> str:
    """Return the longest beginning of a text that takes at most `room` bytes inside a JSON string."""
    least, most = 0, len(text)
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if json_size(text[:middle]) <= room else (least, middle - 1)
    return text[:least]


def pieces(text: str) -> Iterable[str]:
    """Return text in pieces that each fit into a payload; none of an empty one."""
    if len(text) <= PIECE_CHARS:
        return (text,) if text else ()
    return (text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS))
