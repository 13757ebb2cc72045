"""JSON of models, read strictly where it is valid and leniently where it is not.

What was read leniently is marked, and only the final `arguments` are affected: source deltas are never repaired.
"""

import json
import math
import re
from collections.abc import Callable
from contextlib import suppress
from itertools import accumulate
from typing import Any

import msgspec

from tokenmill.limits import JSON_DEPTH
from tokenmill.parser.values.relaxed import Spelling, escaped, printed, to_json

_BARE_KEY = re.compile(r"\s*+\{\s*+[^\"}\s]")
"""An object whose first key is none of JSON's."""

_HALF = re.compile("[\ud800-\udfff]")

HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")
"""Half of a surrogate pair in a JSON text: producers that cut their text by UTF-16 units write it alone."""


_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS = bytes(set(range(256)) - _STEPS.keys())
_NO_STRUCTURE = bytes(set(_NO_BRACKETS) - set(b'"\\/bfnrtu'))
"""What is neither a bracket nor a quote nor can stand in an escape: most of a text, and quickly gone."""


def decode_json(text: str, *, words: bool = False, growing: bool = False) -> tuple[Any, bool]:
    """The value of a JSON text, and whether it had to be repaired. Raises `ValueError` if it can't be read.

    Repaired are raw control characters inside strings, numbers that are not finite (they become strings), halves of
    surrogate pairs (they become U+FFFD), and what `relaxed` reads as meant: see there for `words` and `growing`.
    """
    if not _BARE_KEY.match(text) and not nested_too_deep(text):
        with suppress(msgspec.DecodeError, UnicodeEncodeError):
            return msgspec.json.decode(text), False
        with suppress(ValueError):
            return whole_characters(_lenient(text)), True
    return _read(to_json(text, words=words, growing=growing)), True


def decode_printed(text: str) -> Any:
    """The JSON value that Python's `repr()` wrote so. Raises `ValueError` if it did not."""
    return _read(printed(text))


def _read(text: str) -> Any:
    try:
        return msgspec.json.decode(text)  # knows no halves of characters
    except (msgspec.DecodeError, UnicodeEncodeError):
        return whole_characters(_lenient(text))


def _finite(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


_lenient = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=str).decode
"""Made once: to make a decoder costs more than to read a call with it."""


def whole_characters(value: Any) -> Any:
    """`value` with every half of a surrogate pair replaced, so that it can be encoded."""
    return _rewritten(value, _whole)


def single_halves(value: Any) -> Any:
    """`value` with every half of a surrogate pair replaced by itself: two that meet may have come one by one."""
    return _rewritten(value, lambda text: text if text.isascii() else _HALF.sub("\ufffd", text))


def _rewritten(value: Any, change: Callable[[str], str]) -> Any:
    """`value` with all texts in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {_rewritten(key, change): _rewritten(item, change) for key, item in value.items()}
    return [_rewritten(item, change) for item in value] if isinstance(value, list) else value


def _whole(text: str) -> str:
    if text.isascii():  # a string knows that of itself
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def nested_too_deep(text: str, around: int = 0) -> bool:
    """Whether a JSON text, with so many brackets around it, is nested deeper than readers bear.

    It is the text that is asked: how deep a decoder gets depends on who called it.
    """
    most = JSON_DEPTH - around
    if text.count("[") + text.count("{") <= most:
        return False
    structure = text.encode("utf-8", "surrogatepass").translate(None, _NO_STRUCTURE)
    quotes = structure.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = b"".join(quotes.split(b'"')[::2])  # every other piece is in a string
    return max(accumulate(map(_STEPS.__getitem__, outside.translate(None, _NO_BRACKETS))), default=0) > most


def decode_string(raw: str, spelling: int = Spelling.JSON) -> str:
    """The text of a string's content (without its quotes), leniently."""
    if "\\" not in raw:
        return raw
    try:
        return _decode_literal(f'"{raw}"')
    except (msgspec.DecodeError, UnicodeEncodeError):
        return whole_characters(json.loads(f'"{escaped(raw, spelling)}"', strict=False))  # type: ignore[no-any-return] # -- a string literal


_decode_literal = msgspec.json.Decoder(str).decode
