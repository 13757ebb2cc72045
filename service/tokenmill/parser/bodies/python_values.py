"""Values written as Python literals, with JSON's words for them too, read from the complete text. Nothing is evaluated.

A number too large for a float is none, and Python has no words for what is not finite; JSON's stay text.

The reader that streams has checked that brackets match and how deep they are, so this one may recurse.
"""

import math
import re
from typing import Any

from tokenmill.parser.bodies.python_strings import CONTENT, Endings, decode_python
from tokenmill.parser.repair import whole_characters

_QUOTE = r"([rRuU]?+)\s*+('''|\"\"\"|'|\")"
_STRING = re.compile(rf"\s*+{_QUOTE}")
_BEGIN = re.compile(rf"\s*+(?:([\[({{])\s*+|{_QUOTE}|([^\s,:'\"()\[\]{{}}]++))")
"""A value's bracket, or its prefix and quote, or the word that it is."""

_COMMA = re.compile(r"\s*+(,?+)\s*+")
_COLON = re.compile(r"\s*+:")
_INTEGER = re.compile(r"[+-]?\d(?:_?\d)*+\Z")
_BASED = re.compile(r"[+-]?0(?:[xX][\da-fA-F]++|[oO][0-7]++|[bB][01]++)\Z")
_NUMBER = re.compile(r"[+-]?(?:\d[\d_]*+(?:\.[\d_]*+)?|\.\d[\d_]*+)(?:[eE][+-]?\d++)?\Z")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("None", "null"), None),
    **dict.fromkeys(("True", "true"), True),
    **dict.fromkeys(("False", "false"), False),
    **{word: word for word in ("NaN", "Infinity", "-Infinity")},
}
_CLOSERS = {"[": "]", "(": ")", "{": "}"}
_DIGITS = 1000
"""Python refuses to read integers of more than 4,300 digits; a thousand are more than any tool takes."""
_ENDINGS = Endings()


def read_value(text: str) -> tuple[Any, bool]:
    """The value of one argument, and whether it had to be repaired. Raises `ValueError` with what is wrong."""
    values = _Values(whole_characters(text))
    try:
        return values.whole(), values.repaired
    except RecursionError:
        raise ValueError("nesting is too deep") from None


class _Values:
    """One pass over the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.repaired = False

    def whole(self) -> Any:
        """The value that the text is."""
        begin = _STRING.match(self._text)
        if begin:
            return self._whole_string(begin.end(), begin.group(1), begin.group(2))
        value = self._read("")
        if self._text[self._at :].strip():
            raise ValueError(f"not one value: {self._text[:80]!r}")
        return value

    def _whole_string(self, begin: int, prefix: str, quote: str) -> str:
        """The text is one string; the reader knows already which quote ends it."""
        text = self._text.rstrip()
        end = len(text) - len(quote)
        if end < begin or not text.endswith(quote):
            raise ValueError(f"not a string: {text[:80]!r}")
        certain = CONTENT[quote].match(text, begin, end)
        assert certain is not None  # the pattern matches the empty string, too
        if certain.end() < end:
            if len(quote) > 1:
                raise ValueError(f"not one string: {text[:80]!r}")
            self.repaired = True
        return self._decoded(text[begin:end], prefix, quote)

    def _read(self, around: str) -> Any:
        """The next value; `around` is the bracket that it stands in."""
        begin = _BEGIN.match(self._text, self._at)
        if begin is None:
            raise ValueError(f"not a value: {self._text[self._at :][:80]!r}")
        self._at = begin.end()
        bracket, prefix, quote, word = begin.groups()
        if word:
            return self._scalar(word)
        if quote:
            return self._string(prefix, quote, around)
        return self._braces() if bracket == "{" else self._list(bracket)

    def _string(self, prefix: str, quote: str, around: str) -> str:
        begin = at = self._at
        while True:
            content = CONTENT[quote].match(self._text, at)
            assert content is not None  # the pattern matches the empty string, too
            at = content.end()
            if not self._text.startswith(quote, at):
                raise ValueError("a string does not end")
            if len(quote) > 1 or _ENDINGS.ends(self._text, at + 1, around, final=True):
                break
            self.repaired = True
            at += 1
        self._at = at + len(quote)
        return self._decoded(self._text[begin:at], prefix, quote)

    def _decoded(self, raw: str, prefix: str, quote: str) -> str:
        if "\n" in raw and len(quote) == 1 and "\n" in raw.replace("\\\n", ""):
            self.repaired = True
        return raw if prefix in ("r", "R") else decode_python(raw)

    def _list(self, opener: str) -> Any:
        """A list; a tuple becomes one, and brackets around a single value mean nothing."""
        items: list[Any] = []
        comma = False
        while not self._ends(_CLOSERS[opener]):
            items.append(self._read(opener))
            comma = self._comma(_CLOSERS[opener])
        return items[0] if opener == "(" and len(items) == 1 and not comma else items

    def _braces(self) -> Any:
        """A dictionary; or a set, which becomes a list."""
        found: dict[str, Any] = {}
        items: list[Any] = []
        while not self._ends("}"):
            item = self._read("{")
            if colon := _COLON.match(self._text, self._at):
                self._at = colon.end()
                found[_key(item)] = self._read("{")
            else:
                items.append(item)
            self._comma("}")
        if found and items:
            raise ValueError("neither a dictionary nor a set")
        return items or found

    def _scalar(self, word: str) -> Any:
        if word in _WORDS:
            return _WORDS[word]
        if _INTEGER.match(word):
            digits = word.lstrip("+-")
            self.repaired = self.repaired or (digits[0] == "0" and digits.strip("0_") != "")
            return int(word.replace("_", "")) if len(word) <= _DIGITS else word
        if _BASED.match(word) and len(word) <= _DIGITS:
            return int(word, 0)
        if _NUMBER.match(word) and math.isfinite(number := float(word.replace("_", ""))):
            return number
        raise ValueError(f"not a literal: {word[:80]!r}")

    def _comma(self, closer: str) -> bool:
        """Step over a comma; without one the bracket must end here."""
        comma = _COMMA.match(self._text, self._at)
        assert comma is not None  # the pattern matches the empty string, too
        self._at = comma.end()
        if not comma.group(1) and not self._text.startswith(closer, self._at):
            raise ValueError(f"no comma between values: {self._text[self._at :][:80]!r}")
        return bool(comma.group(1))

    def _ends(self, closer: str) -> bool:
        if not self._text.startswith(closer, self._at):
            return False
        self._at += 1
        return True


def _key(value: Any) -> str:
    """A key as JSON writes it: text, as all of them are there."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return str(value)
    raise ValueError("a list can't be a key")
