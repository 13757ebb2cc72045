"""Values with bare keys and strings between markers, read from the complete text.

The reader that streams has checked that brackets match and how deep they are, so recursion is safe here.
"""

import re
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from tokenmill.parser.coerce import coerce
from tokenmill.parser.schema import Shape

_JSON = frozenset({"json"})
_LAYOUT = re.compile(r"\s*")
_BARE_END = re.compile(r"[,{}\[\]]")


class Syntax(NamedTuple):
    """How strings are written and what gives values their types."""

    quote: str
    typed: bool
    """Quoted values have types like the others; otherwise they are text."""
    untyped: AbstractSet[str]
    """Types of a value of which the schema says nothing."""


def read_arguments(text: str, syntax: Syntax, shape: Shape) -> dict[str, Any]:
    """The arguments that stand between the outermost brackets; `shape` is their schema.

    Inside of what the schema describes, what it does not is read by its look. Raises `ValueError` with what is wrong.
    """
    values = _Values(text, syntax)
    arguments = {}
    while (key := values.key("")) is not None:
        arguments[key] = values.value(shape.child(key), syntax.untyped)
    return arguments


class _Values:
    """One pass over the text."""

    def __init__(self, text: str, syntax: Syntax) -> None:
        self._text = text
        self._syntax = syntax
        self._at = 0

    def key(self, closing: str) -> str | None:
        """The next key, up to its colon; None at the end of the object."""
        if self._ends(closing):
            return None
        if self._text.startswith(self._syntax.quote, self._at):
            key, valid = self._quoted(), True
            self._skip()
        else:
            key = self._text[self._at : max(self._text.find(":", self._at), self._at)]
            valid = self._syntax.quote not in key and not _BARE_END.search(key)
            self._at += len(key)
        if not valid or not self._text.startswith(":", self._at):
            raise ValueError(f"a key without a value: {key[:80]!r}")
        self._at += 1
        return key.strip()

    def value(self, shape: Shape, untyped: AbstractSet[str]) -> Any:
        """The next value, and the comma behind it; `untyped` are its types if the schema has none."""
        self._skip()
        types = shape.types
        inner = _JSON if types else untyped
        first = self._text[self._at : self._at + 1]
        if first == "{":
            self._at += 1
            value: Any = {}
            while (key := self.key("}")) is not None:
                value[key] = self.value(shape.child(key), inner)
        elif first == "[":
            self._at += 1
            value = []
            while not self._ends("]"):
                value.append(self.value(shape.item(), inner))
        else:
            value = self._scalar(types or untyped)
        self._skip()
        if self._text.startswith(",", self._at):
            self._at += 1
        elif self._text[self._at : self._at + 1] not in ("", "}", "]"):
            raise ValueError(f"no comma between values: {self._text[self._at : self._at + 80]!r}")
        return value

    def _scalar(self, types: AbstractSet[str]) -> Any:
        if self._text.startswith(self._syntax.quote, self._at):
            text = self._quoted()
            return coerce(text, types) if self._syntax.typed else text
        end = _BARE_END.search(self._text, self._at)
        text = self._text[self._at : end.start() if end else None]
        self._at += len(text)
        if self._syntax.quote in text:
            raise ValueError(f"not a value: {text[:80]!r}")
        return coerce(text.strip(), types)

    def _quoted(self) -> str:
        begin = self._at + len(self._syntax.quote)
        end = self._text.find(self._syntax.quote, begin)
        if end < 0:
            raise ValueError("a string does not end")
        self._at = end + len(self._syntax.quote)
        return self._text[begin:end]

    def _ends(self, closing: str) -> bool:
        """Whether an object or list ends here, and if it does the step behind its end."""
        self._skip()
        if self._at < len(self._text) and (not closing or self._text[self._at] != closing):
            return False
        self._at += len(closing)
        return True

    def _skip(self) -> None:
        layout = _LAYOUT.match(self._text, self._at)
        assert layout is not None  # the pattern matches the empty string, too
        self._at = layout.end()
