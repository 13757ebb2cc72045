"""Texts read as values of the types that a schema allows: the text of one parameter, or arguments with bare keys.

One ladder leads from a text to its value:

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
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import msgspec

from tokenmill.parser.markers import end_of
from tokenmill.parser.values.repair import decode_json, decode_printed, decode_string, nested_too_deep
from tokenmill.parser.values.schema import Shape

_INTEGER = re.compile(r"[+-]?\d{1,1000}\Z")
"""An integer of at most a thousand digits, more than any tool takes. Python refuses to read more than 4,300."""
_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?\Z")
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}
_WORDS = {"None": None, "True": True, "False": False}

_NO = object()


def _number(text: str) -> Any:
    if _INTEGER.match(text):
        return int(text)
    value = float(text) if _NUMBER.match(text) else math.inf
    return value if math.isfinite(value) else _NO


def _json(kind: type, text: str) -> Any:
    if not nested_too_deep(text):
        with suppress(msgspec.DecodeError, UnicodeEncodeError):
            value = msgspec.json.decode(text)
            return value if isinstance(value, kind) else _NO
    return _NO


_LADDER: tuple[tuple[str, Callable[[str], Any]], ...] = (
    ("null", lambda text: None if text.lower() == "null" else _NO),
    ("integer", lambda text: int(text) if _INTEGER.match(text) else _NO),
    ("number", _number),
    ("boolean", lambda text: _BOOLEANS.get(text.lower(), _NO)),
    ("object", partial(_json, dict)),
    ("array", partial(_json, list)),
    ("json", partial(_json, object)),
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
    if wanted and trimmed.startswith(("{", "[")):
        value = _container(trimmed, wanted, may_be_text=not types.isdisjoint(_MAYBE_TEXT))
        return (text, False) if value is _NO else (value, True)
    return text, False


_CONTAINERS: tuple[tuple[str, type], ...] = (("object", dict), ("array", list), ("json", dict), ("json", list))
_MAYBE_TEXT = frozenset({"string", "json"})


def _container(text: str, wanted: tuple[type, ...], *, may_be_text: bool) -> Any:
    """Read an object or array as Python prints it; or, if it can't be text, as broken JSON or as JSON in a string."""
    candidates = [text, decode_string(text)] if '\\"' in text and not may_be_text else [text]
    for candidate in candidates:
        with suppress(ValueError):
            value = decode_printed(candidate) if may_be_text else decode_json(candidate)[0]
            if isinstance(value, wanted):
                return value
    return _NO


def is_text(types: AbstractSet[str]) -> bool | None:
    """Whether a value of these types is certainly text; None: unless it is `null`."""
    if not types or types == {"string"}:
        return True
    return None if types == {"string", "null"} else False


# Arguments with bare keys and strings between markers, read from the complete text.
#
# The reader that streams has checked that brackets match and how deep they are, so recursion is safe here.

_JSON = frozenset({"json"})
_BEGIN = re.compile(r"\s*([{\[]?)\s*")
_KEY = re.compile(r"([^:,{}\[\]]*):")
_BARE = re.compile(r"[^,{}\[\]]*")
_END = re.compile(r"\s*(,?)\s*")
_COLON = re.compile(r"\s*:")
_JSON_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)


class Syntax(NamedTuple):
    """How strings are written."""

    quote: str
    typed: bool
    """Whether quoted values have types like the others; otherwise they are text."""
    loose: bool
    """Whether the comma between a string and the next key may be missing."""


def read_arguments(text: str, syntax: Syntax, shape: Shape, untyped: AbstractSet[str]) -> tuple[dict[str, Any], bool]:
    """Return the arguments between the outermost brackets, and whether JSON's quotes were taken for the model's own.

    `untyped` are the types of a value that the schema does not describe. Inside a value that it describes, such a value
    is read by its look. Raises `ValueError` with what is wrong.
    """
    values = _Values(text, syntax)
    arguments = {}
    while (key := values.key("")) is not None:
        arguments[key] = values.value(shape.child(key), untyped)
    return arguments, values.repaired


def unquoted(text: str) -> str:
    """Return the text of a whole JSON string; anything else stays unchanged."""
    string = _JSON_STRING.fullmatch(text)
    return decode_string(string.group(1)) if string else text


class _Values:
    """One pass over the text."""

    def __init__(self, text: str, syntax: Syntax) -> None:
        self._text = text
        self._quote = syntax.quote
        self._typed = syntax.typed
        self._loose = syntax.loose
        self._at = len(text) - len(text.lstrip())
        self.repaired = False
        """Whether a key or a value had the quotes of JSON."""

    def key(self, closing: str) -> str | None:
        """Read the next key, up to its colon; None at the end of the object."""
        if self._ends(closing):
            return None
        bare = _KEY.match(self._text, self._at)
        if bare is None or self._quote in bare.group():
            return self._quoted_key()
        self._at = bare.end()
        return self._unquoted(bare.group(1).strip())

    def _quoted_key(self) -> str:
        begin = self._at
        if self._text.startswith(self._quote, begin):
            key = self._quoted()
            if colon := _COLON.match(self._text, self._at):
                self._at = colon.end()
                return self._unquoted(key.strip())
        raise ValueError(f"a key without a value: {self._text[begin : begin + 80]!r}")

    def value(self, shape: Shape, untyped: AbstractSet[str], *, listed: bool = False) -> Any:
        """Read the next value, and the comma after it; `untyped` are its types if the schema has none."""
        begin = _BEGIN.match(self._text, self._at)
        assert begin is not None  # the pattern matches the empty string, too
        self._at = begin.end()
        types = shape.types
        inner = _JSON if types else untyped
        ends_itself = self._loose and not (listed or begin.group(1)) and self._text.startswith(self._quote, self._at)
        if begin.group(1) == "{":
            value: Any = {}
            while (key := self.key("}")) is not None:
                value[key] = self.value(shape.child(key), inner)
        elif begin.group(1):
            value = []
            while not self._ends("]"):
                value.append(self.value(shape.item, inner, listed=True))
        else:
            value = self._scalar(types or untyped)
        end = _END.match(self._text, self._at)
        assert end is not None  # as above
        self._at = end.end()
        if (
            not end.group(1)
            and self._text[self._at : self._at + 1] not in ("", "}", "]")
            and not (ends_itself and self._at_key())
        ):
            raise ValueError(f"no comma between values: {self._text[self._at : self._at + 80]!r}")
        return value

    def _at_key(self) -> bool:
        """Whether a key follows, or a string that must be one."""
        if self._text.startswith(self._quote, self._at):
            return True
        bare = _KEY.match(self._text, self._at)
        return bare is not None and bool(bare.group(1))

    def _scalar(self, types: AbstractSet[str]) -> Any:
        if self._text.startswith(self._quote, self._at):
            text = self._quoted()
            return coerce(text, types) if self._typed else text
        begin, self._at = self._at, end_of(_BARE, self._text, self._at)
        text = self._text[begin : self._at]
        if self._quote in text:
            raise ValueError(f"not a value: {text[:80]!r}")
        value = coerce(text.strip(), types)
        if value == "None" and types and types != {"string"}:  # no text, unless null is impossible
            return None
        return self._unquoted(value) if value == text.strip() else value

    def _unquoted(self, text: str) -> str:
        string = unquoted(text)
        self.repaired = self.repaired or string != text
        return string

    def _quoted(self) -> str:
        begin = self._at + len(self._quote)
        end = self._text.find(self._quote, begin)
        if end < 0:
            raise ValueError("a string does not end")
        self._at = end + len(self._quote)
        return self._text[begin:end]

    def _ends(self, closing: str) -> bool:
        """Whether an object or list ends here. If it does, step past its end."""
        if self._at < len(self._text) and (not closing or self._text[self._at] != closing):
            return False
        self._at += len(closing)
        return True
