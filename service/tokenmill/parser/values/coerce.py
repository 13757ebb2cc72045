"""One ladder from the text of a tagged parameter to a value of a type that its schema allows.

1. No type known, or only `string`: the text itself, untouched. The kind `json` stands for any JSON value, and for
   Python's printed form of one.
2. Otherwise the first that fits of null, integer, number, boolean, object, array; where none fits, the text. Python's
   `None` is null, too, unless a string is allowed.
3. A text that can only be an object or array is read leniently. Where it could be text, too, it may be in Python's
   printed form. Either is marked.
4. Numbers keep their value: integers of any size stay exact, and what is not finite stays text.
"""

import math
import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from tokenmill.parser.values.repair import decode_json, decode_printed, decode_string, nested_too_deep

_INTEGER = re.compile(r"[+-]?\d{1,1000}\Z")
"""An integer of at most a thousand digits, more than any tool takes. Python refuses to read more than 4,300."""
_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?\Z")
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}
_WORDS = {"None": None, "True": True, "False": False}

_NO = object()


def _null(text: str) -> Any:
    return None if text.lower() == "null" else _NO


def _integer(text: str) -> Any:
    return int(text) if _INTEGER.match(text) else _NO


def _number(text: str) -> Any:
    if _INTEGER.match(text):
        return int(text)
    if not _NUMBER.match(text):
        return _NO
    value = float(text)
    return value if math.isfinite(value) else _NO


def _boolean(text: str) -> Any:
    return _BOOLEANS.get(text.lower(), _NO)


def _json(kind: type) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        if nested_too_deep(text):
            return _NO
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError):
            return _NO
        return value if isinstance(value, kind) else _NO

    return read


_LADDER: tuple[tuple[str, Callable[[str], Any]], ...] = (
    ("null", _null),
    ("integer", _integer),
    ("number", _number),
    ("boolean", _boolean),
    ("object", _json(dict)),
    ("array", _json(list)),
    ("json", _json(object)),
    ("json", lambda text: _WORDS.get(text, _NO)),
)


def coerce(text: str, types: AbstractSet[str]) -> Any:
    """Return the value that `text` stands for, given every JSON type that the schema allows."""
    return read_typed(text, types)[0]


def read_typed(text: str, types: AbstractSet[str]) -> tuple[Any, bool]:
    """Return the value that `text` stands for, and whether it had to be repaired."""
    if not types or types == {"string"}:
        return text, False
    if types == {"string", "null"}:  # white space is part of a text, which may have been sent already
        return (None if text.lower() == "null" else text), False
    trimmed = text.strip()
    if trimmed == "None" and "null" in types and "string" not in types:
        return None, False
    for kind, read in _LADDER:
        if kind in types and (value := read(trimmed)) is not _NO:
            return value, False
    wanted = tuple(made for kind, made in _CONTAINERS if kind in types)
    lenient = _repaired if types.isdisjoint(_MAYBE_TEXT) else _printed
    if wanted and trimmed.startswith(("{", "[")) and (value := lenient(trimmed, wanted)) is not _NO:
        return value, True
    return text, False


_CONTAINERS: tuple[tuple[str, type], ...] = (("object", dict), ("array", list), ("json", dict), ("json", list))
_MAYBE_TEXT = frozenset({"string", "json"})


def _repaired(text: str, wanted: tuple[type, ...]) -> Any:
    """Read an object or array whose JSON is not quite valid, or is escaped as if it stood inside a string."""
    for candidate in (text, decode_string(text) if '\\"' in text else ""):
        if candidate:
            try:
                value, _ = decode_json(candidate)
            except ValueError:
                continue
            if isinstance(value, wanted):
                return value
    return _NO


def _printed(text: str, wanted: tuple[type, ...]) -> Any:
    """Read an object or array in Python's printed form."""
    try:
        value = decode_printed(text)
    except ValueError:
        return _NO
    return value if isinstance(value, wanted) else _NO


def is_text(types: AbstractSet[str]) -> bool | None:
    """Whether a value of these types is certainly text; None: unless it is `null`."""
    if not types or types == {"string"}:
        return True
    return None if types == {"string", "null"} else False
