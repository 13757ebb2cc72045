"""Checks that free values of providers can be written as JSON and held in a snapshot."""

import json
from typing import Any

import msgspec

from tokenmill.errors import NOT_JSON, Undecodable
from tokenmill.limits import JSON_DEPTH, RECORD_DEPTH
from tokenmill.parser.values.repair import HALF_PAIR, nested_deeper, whole_characters

SHALLOW_BYTES = 2 * RECORD_DEPTH
"""Bytes of JSON that can't be nested deeper: each bracket has another one."""

_LOWEST, _HIGHEST = -(1 << 63), (1 << 64) - 1


def check_plain(value: Any, name: str) -> None:
    """Raise `Undecodable`, naming the field, for too deep a value, too large an integer, or no JSON value."""
    level = [value]
    for _ in range(JSON_DEPTH):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, str):  # most are
                continue
            if isinstance(item, dict):
                _check_keys(item, name)
                inner += item.values()
            elif isinstance(item, list):
                inner += item
            else:
                _check_scalar(item, name)
        if not inner:
            return
        level = inner
    for item in level:
        if isinstance(item, dict | list):
            raise Undecodable(f"`{name}` is nested more than {JSON_DEPTH} deep")
        _check_scalar(item, name)


def _check_keys(value: dict[Any, Any], name: str) -> None:
    for key in value:
        if not isinstance(key, str):
            raise Undecodable(f"`{name}` has a key that is not a string: {key!r:.50}")


def _check_scalar(value: Any, name: str) -> None:
    if isinstance(value, int):
        if not _LOWEST <= value <= _HIGHEST:
            raise Undecodable(f"`{name}` has an integer of more than 64 bits")
    elif not isinstance(value, str | float | None):
        raise Undecodable(f"`{name}` has a value that JSON can't express: {type(value).__name__}")


def check_depth(data: bytes | str, what: str) -> None:
    """Raise `Undecodable` for JSON that is nested more than `RECORD_DEPTH` deep."""
    if is_too_deep(data):
        raise Undecodable(f"not {what}: nested more than {RECORD_DEPTH} deep")


def is_too_deep(data: bytes | str) -> bool:
    """Whether JSON is nested more than `RECORD_DEPTH` deep. Most is too short for that, or has too few brackets."""
    if len(data) <= SHALLOW_BYTES:
        return False
    return nested_deeper(data.encode(errors="replace") if isinstance(data, str) else data, RECORD_DEPTH)


def read_object(data: bytes | str, what: str) -> dict[str, Any]:
    """A JSON object of a provider's protocol; halves of surrogate pairs become U+FFFD.

    Raises `Undecodable`, with `what` the record should be.
    """
    check_depth(data, what)
    try:
        return _decode(data)
    except NOT_JSON as problem:
        raw = data if isinstance(data, bytes) else data.encode(errors="replace")
        try:
            if HALF_PAIR.search(raw):
                return msgspec.convert(whole_characters(json.loads(raw)), dict[str, Any])
        except (ValueError, RecursionError):
            pass
        raise Undecodable(f"not {what}: {problem}") from problem


_decode = msgspec.json.Decoder(dict[str, Any]).decode
