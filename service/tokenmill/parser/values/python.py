"""String literals of Python as models write them: where one ends, and what its escapes mean.

Models forget to escape quotes. So a quote ends its string only if what follows can follow a string there: a comma and
the next argument, or the end of the call. Where the source is valid Python, the first bare quote always ends it.
Strings side by side or added, which Python would join, break their call: another text has been sent by then.

The end of the stream also ends the call. A string that had a bare quote continues there: it may be half of a text with
such quotes.

Models also forget what stands between calls. So a quote before the call's bracket and another call also ends its
string, but only if it is the first bare one in it: after others this may just as well be code in the string.

A string whose closing quote is missing extends to a quote of the next argument. Its call is broken.
"""

import json
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal

import msgspec

from tokenmill.parser.markers import SPACE_CHARS, Marker, end_of
from tokenmill.parser.values.repair import HEX, HIGH, LOW, blotted, whole_characters, whole_escapes

_ANY_SPACE = rf"\s{{0,{SPACE_CHARS}}}+"
"""White space in places where it means nothing."""
_SPACE = r"\s{0,64}"
"""White space where something is missing that should be there: lines and their indentation."""
_NAME = r"[^\W\d]\w{0,255}"
_GAP = rf"{_SPACE}+[;,]?{_SPACE}+"
_OPENING = rf"[A-Za-z_][\w.\-]{{0,128}}+(?:\Z|\({_SPACE}+)"
"""A tool's name and its bracket, or as much of it as there is: what must follow decides which."""
_EMPTY = rf"(?:{_OPENING}\){_GAP}){{0,4}}"
"""Calls without arguments, before a call that shows that they are calls."""

_CONTENT = {
    quote: re.compile(rf"(?:[^{quote[0]}\\]++|\\.{inner})*+", re.DOTALL)
    for quote, inner in (
        ("'", ""),
        ('"', ""),
        ("'''", r"|'(?!''|'?\Z)"),
        ('"""', r'|"(?!""|"?\Z)'),
    )
}
"""Content of a string by its quote, as far as it is certain: without a last backslash or what may be a triple quote."""

_NESTED = {
    bracket: (re.compile(rf"{_ANY_SPACE}[{signs}]"), re.compile(rf"{_ANY_SPACE}\Z"))
    for bracket, signs in (("[", r",\]"), ("(", ",)"), ("{", ",:}"))
}
"""What follows a string by the bracket around it: complete, and still possible."""

Separator = Literal[",", "\n"]
"""What stands between calls: a comma in a list, or a new line."""


class Endings:
    """Which quotes end their string."""

    def __init__(self, separator: Separator = ",", stops: Sequence[Marker] = (), *, torn: bool = False) -> None:
        """`stops` are markers that may follow the call; a `torn` string had a bare quote that did not end it."""
        firsts = re.escape("".join(sorted({spelling[0] for stop in stops for spelling in stop.spellings})))
        space, behind = (_ANY_SPACE, r",\]") if separator == "," else (rf"[ \t]{{0,{SPACE_CHARS}}}+", r"\n")

        def ending(after: str) -> re.Pattern[str]:
            call = "" if torn else rf"|{_GAP}{_EMPTY}{_OPENING}(?:{_NAME}{_SPACE}=|\){space}{after})"
            argument = rf",{_ANY_SPACE}(?:\)|{_NAME}{_ANY_SPACE}=)"
            return re.compile(rf"{_ANY_SPACE}(?:{argument}|\)(?:{space}{after}{call}))")

        self._argument = ending(f"[{behind}{firsts}]")
        self._last = self._argument if torn else ending(rf"(?:[{behind}{firsts}]|\Z)")
        call = "" if torn else rf"|{_GAP}{_EMPTY}(?:\Z|{_OPENING}(?:\Z|{_NAME}{_SPACE}\Z|\){space}\Z))"
        argument = rf",{_ANY_SPACE}(?:\Z|{_NAME}{_ANY_SPACE}\Z)"
        self._begun = re.compile(rf"{_ANY_SPACE}(?:\Z|{argument}|\)(?:{space}\Z{call}))")

    def ends(self, text: str, behind: int, around: str, *, final: bool) -> bool | None:
        """Whether a quote before `behind` ends its string; None if that is not certain yet.

        `around` is the bracket that the string stands in, empty for an argument itself.
        """
        if around:
            complete, begun = _NESTED[around]
        else:
            complete, begun = (self._last if final else self._argument), self._begun
        if complete.match(text, behind):
            return True
        return None if not final and begun.match(text, behind) else False


ENDINGS = Endings()
"""Endings of a string inside brackets, whatever stands between the calls."""


def opening_quote(text: str, at: int, *, final: bool) -> str | None:
    """Return the quote that opens a string here, which may be a triple one; None if that is not certain yet."""
    sign, quotes = text[at], text[at : at + 3]
    if quotes == sign * 3:
        return quotes
    return None if not final and at + len(quotes) == len(text) and quotes in (sign, sign * 2) else sign


def content_end(quote: str, text: str, at: int, *, escaped: bool) -> tuple[int, bool]:
    """Return where a string's content stops, at a quote that may end it or at the text's end; and whether a backslash
    before that escapes. `escaped`: one stands before the content.
    """
    at = end_of(_CONTENT[quote], text, at + escaped)
    return (at + 1, True) if text.startswith("\\", at) else (at, False)


def string_closes(quote: str, text: str, at: int, around: str, endings: Endings, *, final: bool) -> bool | None:
    """Whether the string ends where its content stopped; None if that is not certain yet.

    `around` is the bracket that the string stands in, empty for an argument itself.
    """
    if at == len(text):
        return False
    if not text.startswith(quote, at):
        return False if final else None
    return len(quote) > 1 or endings.ends(text, at + len(quote), around, final=final)


_WHOLE = whole_escapes({"u": 4, "x": 2, "U": 8}, octal="|[0-7]{3}|[0-7]{1,2}(?=[^0-7])")
_ESCAPE = re.compile(
    rf"{HIGH}{LOW}|\\x{HEX}{{2}}|\\u{HEX}{{4}}|\\U{HEX}{{8}}|\\[0-7]{{1,3}}|\\.",
    re.DOTALL,
)
_SIMPLE = dict(zip("ntrabfv\\'\"\n", ("\n", "\t", "\r", "\a", "\b", "\f", "\v", "\\", "'", '"', ""), strict=True))


def decode_python(raw: str) -> str:
    """Return the text of a string's content; an unknown escape stands for itself, half a pair becomes U+FFFD."""
    if "\\" not in raw:
        return raw
    if "\\/" not in raw:  # the only escape of JSON that Python does not have
        with suppress(msgspec.DecodeError, UnicodeEncodeError):
            return _read_literal(f'"{raw}"')  # nearly all are the same there, and it may be a whole file
    return _ESCAPE.sub(_decoded, raw)


_read_literal = msgspec.json.Decoder(str).decode


def decode_certain(raw: str) -> tuple[str, str]:
    """Return the text of more content, as far as it is certain, and the raw rest."""
    if "\\" not in raw:
        return raw, ""
    end = end_of(_WHOLE, raw)
    return decode_python(raw[:end]), raw[end:]


def _decoded(found: re.Match[str]) -> str:
    escape = found.group()
    kind = escape[1]
    if kind in "01234567":
        return chr(int(escape[1:], 8))
    if len(escape) > 2 and kind == "u":  # noqa: PLR2004 -- more than a backslash and a letter
        return str(whole_characters(json.loads(f'"{escape}"')))
    if len(escape) > 2:  # noqa: PLR2004 -- as above
        code = int(escape[2:], 16)  # noqa: FURB166 -- the prefix is a backslash's, not Python's for base 16
        return "\ufffd" if 0xD800 <= code < 0xE000 or code > 0x10FFFF else chr(code)  # noqa: PLR2004 -- Unicode's bounds
    return _SIMPLE.get(kind, escape)


# Values written as Python literals, with JSON's words for them too, read from the complete text. Nothing is evaluated.
#
# A number too large for a float is not a number, and Python has no words for infinity and NaN; JSON's stay text.
#
# The reader that streams has checked that brackets match and how deep they are, so this one may recurse.

_QUOTE = r"([rRuU]?+)\s*+('''|\"\"\"|'|\")"
_STRING = re.compile(rf"\s*+{_QUOTE}")
_QUOTED = (
    r"(?:'{3}(?:[^'\\]++|\\.|'(?!''))*+'{3}|\"{3}(?:[^\"\\]++|\\.|\"(?!\"\"))*+\"{3}"
    r"|'(?:[^'\\\n]++|\\.)*+'|\"(?:[^\"\\\n]++|\\.)*+\")"
)
_PLAIN = rf"[rRuUbBfF]{{0,2}}+{_QUOTED}"
_BETWEEN = r"(?:\s|\\\r?\n|#[^\n]*+\n)"
"""White space, an escaped end of a line, or a comment."""

_JOINED = re.compile(rf"{_PLAIN}(?:(?:{_BETWEEN}*+\+{_BETWEEN}*+|{_BETWEEN}++){_PLAIN})++\Z", re.DOTALL)
"""Strings side by side or added. Without white space, a quote after a quote is one that was doubled to escape it."""

_ARGUMENT = re.compile(r"[(,]\s*+[^\W\d]\w*+\s*+=\s*+\Z")
"""What stands before an argument's value."""

_BEGIN = re.compile(rf"\s*+(?:([\[({{])\s*+|{_QUOTE}|([^\s,:'\"()\[\]{{}}]++))")
"""A value's bracket, or its prefix and quote, or a word."""

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
"""Digits of an integer, more than any tool takes. Python refuses to read more than 4,300."""


def read_value(text: str) -> tuple[Any, bool]:
    """Return the value of one argument, and whether it had to be repaired. Raises `ValueError` with what is wrong."""
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
        """Return the value of the whole text."""
        begin = _STRING.match(self._text)
        if begin:
            return self._whole_string(begin.end(), begin.group(1), begin.group(2))
        value = self._read("")
        if self._text[self._at :].strip():
            raise ValueError(f"not one value: {self._text[:80]!r}")
        return value

    def _whole_string(self, begin: int, prefix: str, quote: str) -> str:
        """Read the text as one string; the reader already knows which quote ends it."""
        text = self._text.rstrip()
        end = len(text) - len(quote)
        if end < begin or not text.endswith(quote):
            raise ValueError(f"not a string: {text[:80]!r}")
        raw = text[begin:end]
        if not _all_escaped(raw, quote[0]):
            bare = blotted(raw, quote[0])
            if quote in bare or bare.endswith(("\\", quote[0])):
                if len(quote) > 1:
                    raise ValueError(f"not one string: {text[:80]!r}")
                self._torn(f"{quote}{raw}{quote}")
        return self._decoded(raw, prefix, quote)

    def _torn(self, source: str) -> None:
        """Judge a string with bare quotes. Raises `ValueError` if it is several, or if its closing quote is missing.

        A missing quote leaves an odd number of bare ones; the last of them opens the string of the next argument.
        """
        if _JOINED.match(source):
            raise ValueError(f"not one string: {source[:80]!r}")
        *pieces, _ = blotted(source[1:-1], source[0]).split(source[0])
        if len(pieces) % 2 and _ARGUMENT.search(pieces[-1]):
            raise ValueError(f"a string's closing quote is missing: {source[:80]!r}")
        self.repaired = True

    def _read(self, around: str) -> Any:
        """Read the next value; `around` is the bracket that it stands in."""
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
        torn = False
        while True:
            at = end_of(_CONTENT[quote], self._text, at)
            if not self._text.startswith(quote, at):
                raise ValueError("a string does not end")
            if len(quote) > 1 or ENDINGS.ends(self._text, at + 1, around, final=True):
                break
            torn, at = True, at + 1
        self._at = at + len(quote)
        if torn:
            self._torn(self._text[begin - 1 : self._at])
        return self._decoded(self._text[begin:at], prefix, quote)

    def _decoded(self, raw: str, prefix: str, quote: str) -> str:
        if "\n" in raw and len(quote) == 1 and "\n" in raw.replace("\\\n", ""):
            self.repaired = True
        return raw if prefix in ("r", "R") else decode_python(raw)

    def _list(self, opener: str) -> Any:
        """Read a list. A tuple becomes one, and brackets around a single value mean nothing."""
        items: list[Any] = []
        comma = False
        while not self._ends(_CLOSERS[opener]):
            items.append(self._read(opener))
            comma = self._comma(_CLOSERS[opener])
        return items[0] if opener == "(" and len(items) == 1 and not comma else items

    def _braces(self) -> Any:
        """Read a dictionary; or a set, which becomes a list."""
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


def _all_escaped(raw: str, quote: str) -> bool:
    """Whether counting shows that a string's content has no bare quote in it, and does not end with half an escape.

    It can't show this where an escaped backslash stands before a quote, or where either is at the end.
    """
    return raw.count(quote) == raw.count(f"\\{quote}") and f"\\\\{quote}" not in raw and raw[-1:] not in ("\\", quote)


def _key(value: Any) -> str:
    """Return a key as JSON writes it: always text."""
    if isinstance(value, list | dict):
        raise ValueError("a list can't be a key")  # noqa: TRY004 -- the source is wrong, not a type
    return value if isinstance(value, str) else json.dumps(value)
