"""Follows bare keys and marked strings as they arrive, without building a value.

What a chunk does depends only on the chunk and on what is open in front of it. Chunks are tokens, which repeat: so
`follow` remembers what it found.
"""

import re
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from tokenmill.parser.bodies.brackets import nested
from tokenmill.parser.markers import LEADING_SPACE, Hit, Marker, Scanner, before, following, literal, marker
from tokenmill.parser.members import at_hand

TOKEN_CHARS = 32
"""A chunk that may come again; longer ones do not."""

REMEMBERED = 4096
"""Chunks whose effect is remembered, about a megabyte in all: the signs between values make a few hundred."""

SCANS = 64
"""Kinds of marks in use at a time: one for each format, and for each suffix that its markers have."""


@at_hand
class Sign(Enum):
    """What has a meaning outside of strings."""

    QUOTE = "a string begins or ends"
    OPEN = "a bracket opens"
    CLOSE = "a bracket closes"
    COLON = "a key ends"
    COMMA = "a value ends"
    STOP = "what surrounds the call goes on"
    STRAY = "a string has a quote that does not end it"


class Inside(NamedTuple):
    """What is open behind a chunk, and what the chunk says of the outermost level."""

    quoted: bool
    naming: bool
    stack: str
    read: int
    """Characters of the chunk that are read: the rest must wait."""
    key: str
    """Text of the outermost key: of that which the chunk begins, or more of that which it begins in."""
    begins: bool
    strings: bool
    """Whether a string begins that is a value of the outermost level."""


_SEPARATORS = str.maketrans("", "", ":,")
"""They mean something in the outermost brackets only."""


class LiteralScan:
    """The signs of one kind of marks, and of what surrounds the call.

    `around` is all that may stand behind the call. Where it is `loose`, a string ends its value: the comma in front of
    the next key may be missing.
    """

    def __init__(self, quote: Marker, stops: Sequence[Marker], around: Sequence[Marker] = (), *, loose: bool) -> None:
        self.loose = loose
        signs = [
            (quote, Sign.QUOTE),
            (marker("{", "["), Sign.OPEN),
            (marker("}", "]"), Sign.CLOSE),
            (marker(":"), Sign.COLON),
            (marker(","), Sign.COMMA),
        ]
        self.string = _string(quote, _behind(quote, around, loose=loose))
        self._outer = _string(quote, _behind(quote, around, loose=loose, deep=False))
        self._structure = Scanner([*signs, *((stop, Sign.STOP) for stop in stops)])
        self._deep = re.compile(f"[{re.escape(self._structure.firsts.translate(_SEPARATORS))}]")

    def find(self, text: str, at: int, *, quoted: bool, deep: bool, final: bool) -> Hit[Sign] | None:
        """The next sign, or what to hold; `deep` inside of brackets of a value."""
        scanner = self._structure if not quoted else self.string if deep else self._outer
        return scanner.find(text, at, final=final)

    def passes(self, text: str, stack: str) -> bool:
        """Whether nothing in the text has a meaning inside of these brackets, outside of strings."""
        return len(stack) > 1 and self._deep.search(text) is None


def _string(quote: Marker, behind: Sequence[tuple[str, ...]]) -> Scanner[Sign]:
    """Where a string ends, and a quote that does not end it."""
    return Scanner([(before(quote, behind), Sign.QUOTE), (quote, Sign.STRAY)])


def _behind(quote: Marker, around: Sequence[Marker], *, loose: bool, deep: bool = True) -> list[tuple[str, ...]]:
    """What must follow the end of a string: no escape says of a quote that it is content.

    Behind a bracket stands more of the same, where it is not the call's, or what surrounds the call, or nothing.
    """
    surrounding = [sequence for stop in around for sequence in following(stop)]
    inside = [(LEADING_SPACE, r"\Z"), *([(LEADING_SPACE, "[,}\\]]")] if deep else [])]
    loosely: list[tuple[str, ...]] = []
    if loose:
        loosely.append((LEADING_SPACE, r"\w", r"[\w.\- ]{0,128}", ":"))
        loosely += [(LEADING_SPACE, *literal(spelling)) for spelling in quote.spellings]
    last = [(*sequence, LEADING_SPACE, r"\Z") for sequence in surrounding]
    ends = [(LEADING_SPACE, "[,:\\]]"), *last, *loosely]
    return ends + [(LEADING_SPACE, "}", *behind) for behind in (*inside, *surrounding, *(loosely if deep else ()))]


literal_scan = lru_cache(SCANS)(LiteralScan)
"""The scan for these marks: one for all messages, so that they share what is remembered."""


def follow(scan: LiteralScan, text: str, stack: str, *, quoted: bool, naming: bool) -> Inside | None:
    """Read a chunk inside of the outermost brackets; None if it ends the call, or must be read with care."""
    return _remembered(scan, text, stack, quoted, naming) if len(text) <= TOKEN_CHARS else None


@lru_cache(REMEMBERED)
def _remembered(scan: LiteralScan, text: str, stack: str, quoted: bool, naming: bool) -> Inside | None:  # noqa: FBT001 -- keys of the cache
    at, key, begins, strings = 0, "", False, False
    while True:
        hit = scan.find(text, at, quoted=quoted, deep=len(stack) > 1, final=False)
        stop = len(text) if hit is None else hit.start
        if naming:
            key += text[at:stop]
        if hit is None or hit.value is None:
            return Inside(quoted, naming, stack, stop, key, begins, strings)
        at = hit.end
        if hit.value is Sign.QUOTE:
            quoted = not quoted
            outer = not naming and len(stack) == 1
            strings = strings or (quoted and outer)
            if scan.loose and outer and not quoted:
                naming, key, begins = True, "", True
        elif hit.value in (Sign.COLON, Sign.COMMA):
            if len(stack) == 1 and hit.value is Sign.COMMA:
                naming, key, begins = True, "", True
            elif len(stack) == 1:
                naming = False
        else:
            inner = None if naming or hit.value in (Sign.STOP, Sign.STRAY) else nested(stack, text[stop])
            if inner is None:
                return None
            stack = inner
