"""String literals of Python as models write them: where one ends, and what its escapes stand for.

Models forget to escape quotes. So a quote ends its string only if what follows can follow a string there: a comma and
the next argument, or the end of the call. Where the source is valid Python, the first bare quote always does; strings
side by side, which Python would join, are not in the grammar.

Models forget what stands between calls, too. So a quote in front of the call's bracket and another call also ends its
string, but only the first bare one in it: behind others this may as well be code in the string.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

import msgspec

from tokenmill.parser.markers import SPACE_CHARS, Marker

_ANY_SPACE = rf"\s{{0,{SPACE_CHARS}}}+"
"""Where white space means nothing."""
_SPACE = r"\s{0,64}"
"""Where something is missing that should be there: lines and their indentation."""
_NAME = r"[^\W\d]\w{0,255}"
_GAP = rf"{_SPACE}+[;,]?{_SPACE}+"
_OPENING = rf"[A-Za-z_][\w.\-]{{0,128}}+(?:\Z|\({_SPACE}+)"
"""A tool's name and its bracket, or as much of it as there is: what must follow tells which."""
_EMPTY = rf"(?:{_OPENING}\){_GAP}){{0,4}}"
"""Calls without arguments, in front of one that shows that they are some."""

CONTENT = {
    quote: re.compile(rf"(?:[^{quote[0]}\\]++|\\.{inner})*+", re.DOTALL)
    for quote, inner in (
        ("'", ""),
        ('"', ""),
        ("'''", r"|'(?!''|'?\Z)"),
        ('"""', r'|"(?!""|"?\Z)'),
    )
}
"""Content of a string by its quote, as far as it is certain: no backslash at its end, nor quotes that may be three."""

_NESTED = {
    "[": (re.compile(rf"{_ANY_SPACE}[,\]]"), re.compile(rf"{_ANY_SPACE}\Z")),
    "(": (re.compile(rf"{_ANY_SPACE}[,)]"), re.compile(rf"{_ANY_SPACE}\Z")),
    "{": (re.compile(rf"{_ANY_SPACE}[,:}}]"), re.compile(rf"{_ANY_SPACE}\Z")),
}
"""What follows a string by the bracket around it: complete, and still possible."""

Separator = Literal[",", "\n"]
"""What stands between calls: a comma in a list, or a new line."""


class Endings:
    """Which quotes end their string."""

    def __init__(self, separator: Separator = ",", stops: Sequence[Marker] = (), *, torn: bool = False) -> None:
        """`stops` are markers that may follow the call; a `torn` string has had a bare quote that did not end it."""
        firsts = re.escape("".join(sorted({spelling[0] for stop in stops for spelling in stop.spellings})))
        space, behind = (_ANY_SPACE, r",\]") if separator == "," else (rf"[ \t]{{0,{SPACE_CHARS}}}+", r"\n")

        def ending(after: str) -> re.Pattern[str]:
            call = "" if torn else rf"|{_GAP}{_EMPTY}{_OPENING}(?:{_NAME}{_SPACE}=|\){space}{after})"
            argument = rf",{_ANY_SPACE}(?:\)|{_NAME}{_ANY_SPACE}=)"
            return re.compile(rf"{_ANY_SPACE}(?:{argument}|\)(?:{space}{after}{call}))")

        self._argument, self._last = ending(f"[{behind}{firsts}]"), ending(rf"(?:[{behind}{firsts}]|\Z)")
        call = "" if torn else rf"|{_GAP}{_EMPTY}(?:\Z|{_OPENING}(?:\Z|{_NAME}{_SPACE}\Z|\){space}\Z))"
        argument = rf",{_ANY_SPACE}(?:\Z|{_NAME}{_ANY_SPACE}\Z)"
        self._begun = re.compile(rf"{_ANY_SPACE}(?:\Z|{argument}|\)(?:{space}\Z{call}))")

    def ends(self, text: str, behind: int, around: str, *, final: bool) -> bool | None:
        """Whether a quote in front of `behind` ends its string; None if that can't be told yet.

        `around` is the bracket that the string stands in, empty for an argument itself.
        """
        if around:
            complete, begun = _NESTED[around]
        else:
            complete, begun = (self._last if final else self._argument), self._begun
        if complete.match(text, behind):
            return True
        return None if not final and begun.match(text, behind) else False


_HEX = "[0-9a-fA-F]"
_HIGH = rf"\\u[dD][89abAB]{_HEX}{{2}}"
_LOW = rf"\\u[dD][c-fC-F]{_HEX}{{2}}"
_LOW_BEGUN = rf"(?:\\(?:u(?:[dD](?:[c-fC-F]{_HEX}?)?)?)?)?\Z"
_WHOLE = re.compile(
    r"(?:[^\\]++"
    r"|\\[^xuU0-7]"
    rf"|\\x(?:{_HEX}{{2}}|(?={_HEX}?[^0-9a-fA-F]))"  # the second: not an escape after all
    rf"|\\U(?:{_HEX}{{8}}|(?={_HEX}{{0,7}}[^0-9a-fA-F]))"
    r"|\\(?:[0-7]{3}|[0-7]{1,2}(?=[^0-7]))"
    rf"|{_HIGH}(?:{_LOW}|(?!{_LOW_BEGUN}))"
    rf"|\\u(?!{_HIGH[3:]})(?:{_HEX}{{4}}|(?={_HEX}{{0,3}}[^0-9a-fA-F]))"
    r")*+",
    re.DOTALL,
)
"""As much content as can be decoded whatever follows: no half escape, no half pair at its end."""
_ESCAPE = re.compile(
    rf"{_HIGH}{_LOW}|\\x{_HEX}{{2}}|\\u{_HEX}{{4}}|\\U{_HEX}{{8}}|\\[0-7]{{1,3}}|\\.",
    re.DOTALL,
)
_SIMPLE = dict(zip("ntrabfv\\'\"\n", ("\n", "\t", "\r", "\a", "\b", "\f", "\v", "\\", "'", '"', ""), strict=True))
_PAIR = 12
"""Characters of two escapes that make one character."""


def decode_python(raw: str) -> str:
    """The text of a string's content; an unknown escape stands for itself, half of a pair for U+FFFD."""
    if "\\" not in raw:
        return raw
    if "\\/" not in raw:  # the only escape of JSON that is none of Python's
        with suppress(msgspec.DecodeError, UnicodeEncodeError):
            return _read_literal(f'"{raw}"')  # nearly all are written alike there, and it may be a whole file
    return _ESCAPE.sub(_decoded, raw)


_read_literal = msgspec.json.Decoder(str).decode


def decode_certain(raw: str) -> tuple[str, str]:
    """The text of more content, as far as it is certain, and the raw rest."""
    if "\\" not in raw:
        return raw, ""
    whole = _WHOLE.match(raw)
    assert whole is not None  # the pattern matches the empty string, too
    return decode_python(raw[: whole.end()]), raw[whole.end() :]


def _decoded(found: re.Match[str]) -> str:
    escape = found.group()
    kind = escape[1]
    if len(escape) == _PAIR:
        high, low = int(escape[2:6], 16), int(escape[8:], 16)
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    if kind in "01234567":
        return chr(int(escape[1:], 8))
    if len(escape) > 2:  # noqa: PLR2004 -- more than a backslash and a letter
        code = int(escape[2:], 16)  # noqa: FURB166 -- the prefix is a backslash's, not Python's for base 16
        return "\ufffd" if 0xD800 <= code < 0xE000 or code > 0x10FFFF else chr(code)  # noqa: PLR2004 -- Unicode's bounds
    return _SIMPLE.get(kind, escape)
