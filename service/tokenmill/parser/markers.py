"""Markers, and how they are found in a stream: only text that can still become a marker is held back.

1. A scanner knows the markers that are live in one mode. The earliest wins; of several at one place, the longest.
2. Hold-back is exact: text waits only from the first place at which all that follows is a proper prefix of a live
   marker. A complete marker waits too while a longer one can still follow.
3. White space inside and before a marker is bounded, and so is what must follow it: what is held is bounded. After some
   held text, more white space is not looked at (`Scanner.room`).
4. A character of everyday prose is a marker only where enough follows it (`ahead`). So a call without markers is found,
   and only text that can still become one is held.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import lru_cache
from sys import getsizeof
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar, cast

import msgspec

from tokenmill.errors import BadOpen
from tokenmill.limits import KIB, MIB, NAME_CHARS
from tokenmill.recent import Recent

INNER_SPACE = r"\s{0,8}"
"""White space allowed between a marker's words: models that write `< parameter = k >` use one or two."""

SPACE_CHARS = 1 * KIB
"""White space in one place before it is decided what it stands in: more is not layout. The signs of a call without
markers have a dozen such places, so at most 16 KiB are held."""

LEADING_SPACE = rf"\s{{0,{SPACE_CHARS}}}"
"""White space before a marker that is framing, and between tokens of JSON or Python, where it means nothing."""

OVER = (LEADING_SPACE, r"\Z")
"""Nothing else follows in the stream: a sequence for `Marker.ahead`."""

_JSON = frozenset("{}[]:,")
"""Characters beside which white space means nothing."""

_WORD_OR_SIGN = re.compile(r"\w+|\W")

TOKEN_CHARS = 32
"""Characters of a chunk that may occur again; longer chunks do not."""

REMEMBERED = 4096
"""Chunks whose effects are remembered, for each scanner: about a megabyte. The effect of a chunk depends only on it and
on what is open before it, and few chunks contain a bracket or a marker's character."""

PATTERNS = 1024
"""Sets of markers whose patterns are kept, more than all formats have: a message with tools of its own costs little."""

PATTERNS_BYTES = 16 * MIB
"""Bytes of all of them, more than twice what all formats have: clients may have markers of their own."""

ATOMS = NAME_CHARS + 64
"""Characters of a marker, which may be the name of a tool, with what follows it: `re` recurses twice into each."""

SPELLED_CHARS = 32 * KIB
"""Characters of all spellings of a set of markers: a hundred tools whose names are markers, as long as they may be."""

PATTERN_CHARS = 256 * KIB
"""Characters of all patterns for a set of markers: five hundred names of thirty characters, or more that begin alike.
They take a second to compile."""

SCANS = 64
"""Scanners of bodies that are kept, more than all formats have."""

NO_SIGN = "\uffff"
"""A character that texts do not have, for places where nothing can be found."""

INNER_CHARS = 256
"""Characters that vary inside a marker, like the numbers in a citation's closing: more is not a marker."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Marker(msgspec.Struct, frozen=True):
    """A literal that switches the mode."""

    spellings: tuple[str, ...]
    spaces: bool = False
    """Whether white space is allowed between its words and characters."""
    any_case: bool = False
    """Whether letters may be of either case."""
    inner: str = ""
    """Pattern of characters that may stand before the last character, at most `INNER_CHARS` of them."""
    ahead: tuple[tuple[str, ...], ...] = ()
    """What must follow it, without being a part of it: alternatives, each a sequence of patterns. A pattern is one
    character, or a bounded repetition of one, so that its beginnings match it, too; or `\\Z`, the stream's end. See
    `ahead`."""


def marker(
    *spellings: str, spaces: bool = False, any_case: bool = False, inner: str = "", ahead: Sequence[Sequence[str]] = ()
) -> Marker:
    """Return a marker by its spellings."""
    return Marker(spellings, spaces, any_case, inner, tuple(tuple(sequence) for sequence in ahead))


def has_only(mark: Marker, signs: str) -> bool:
    """Whether a marker is written with these characters alone. Where content uses them, too, it can't end the
    content.
    """
    return set("".join(mark.spellings)) <= set(signs)


def end_of(pattern: re.Pattern[str], text: str, at: int = 0) -> int:
    """Return where a pattern that matches the empty string, too, stops matching the text from `at` on."""
    found = pattern.match(text, at)
    assert found is not None
    return found.end()


def literal(text: str, *, any_case: bool = False) -> tuple[str, ...]:
    """Return the patterns of a text's characters."""
    return tuple(f"[{sign.lower()}{sign.upper()}]" if any_case and sign.isalpha() else re.escape(sign) for sign in text)


def ahead(pattern: str, **parts: str) -> tuple[str, ...]:
    """Return a sequence for `Marker.ahead`: words are literal, a space is any white space, `<part>` a given pattern."""
    pieces = re.split(r"(<\w+>)", pattern)
    sequence: list[str] = []
    for piece in pieces:
        if piece[1:-1] in parts:
            sequence.append(parts[piece[1:-1]])
        else:
            sequence += [LEADING_SPACE if character == " " else re.escape(character) for character in piece]
    return tuple(sequence)


def following(*marks: Marker) -> list[tuple[str, ...]]:
    """Return the sequences of these markers, one after the other, with white space before each."""
    sequences: list[tuple[str, ...]] = [()]
    for mark in marks:
        behind = spelled(mark, leading_space=True)
        sequences = [(*before, *atoms) for before in sequences for atoms in behind]
    return sequences


def before(mark: Marker, sequences: Sequence[tuple[str, ...]]) -> Marker:
    """Return the marker where one of these sequences follows it."""
    return msgspec.structs.replace(mark, ahead=tuple(sequences))


class Hit(msgspec.Struct, Generic[T_co], frozen=True, gc=False):
    """What a scanner found: a marker at `start:end` with its `value`; or, with `end` -1, text to hold from `start`."""

    start: int
    end: int
    value: T_co | None


class Finder(Protocol[T_co]):
    """Finds what is live at one place of a stream."""

    first: str = ""
    """The character that begins everything that can be found, if there is a single one. A text without it holds
    nothing."""

    def find(self, buffer: str, position: int, *, final: bool) -> "Hit[T_co] | None":
        """Find the first from `position` on, or what to hold; `final` means that nothing follows the buffer."""

    def settled(self, text: str) -> int:
        """Return how much of the text holds nothing, whatever follows; -1 if it holds something."""
        hit = self.find(text, 0, final=False)
        if hit is None:
            return len(text)
        return hit.start if hit.value is None else -1


class Scanner(Generic[T]):
    """The live markers of one mode, each with a value (what to do, or which marker it was)."""

    __slots__ = ("_full", "_space", "_values", "begun", "doubt", "first", "firsts")

    def __init__(self, live: Sequence[tuple[Marker, T]], *, leading_space: bool = False) -> None:
        patterns = _patterns(tuple(mark for mark, _ in live), leading_space=leading_space)
        self._full = patterns.full
        self._space = patterns.space
        self._values = [live[number][1] for number in patterns.numbers]
        self.begun = patterns.begun
        """Whether all of a text, or all from a position on, can become a marker."""
        self.doubt = patterns.doubt
        """Where a text or the rest of it first is or can become a marker, if anywhere."""
        self.firsts = patterns.firsts
        """The characters that markers begin with, ignoring white space before them."""
        single = self.firsts if len(self.firsts) == 1 and not leading_space else ""
        self.first = single if live else NO_SIGN
        """As in any finder."""

    def settled(self, text: str) -> int:
        """Return how much of the text holds no marker, whatever follows; -1 if it contains a whole one."""
        return (_remembered if len(text) <= TOKEN_CHARS else _settled)(self, text)

    def room(self, held: str) -> int:
        """Return how much more white space may follow what is held before anything is decided."""
        if not held[-1:].isspace() or not self._space(held):
            return 0
        return SPACE_CHARS - len(held) + len(held.rstrip())

    def find(self, buffer: str, position: int, *, final: bool) -> Hit[T] | None:
        """Find the first marker from `position` on, or what to hold; `final` means that nothing follows the buffer."""
        if final or len(buffer) > TOKEN_CHARS:
            return _find(self, buffer, position, final=final)
        return _remembered_find(self, buffer, position)

    def at(self, buffer: str, position: int, *, final: bool) -> Hit[T] | None:
        """Find the marker that starts exactly at `position`, or what to hold, or None."""
        if not final and self.begun(buffer, position):
            return Hit(position, -1, None)
        full = self._full.match(buffer, position)
        if full is None:
            return None
        assert full.lastindex is not None  # every alternative is a group
        return Hit(position, full.end(), self._values[full.lastindex - 1])


def _find(scanner: Scanner[Any], buffer: str, position: int, *, final: bool = False) -> Hit[Any] | None:
    while doubt := scanner.doubt(buffer, position):
        hit = scanner.at(buffer, doubt.start(), final=final)
        if hit is not None:
            return hit
        position = doubt.start() + 1
    return None


def _settled(scanner: Scanner[Any], text: str) -> int:
    doubt = scanner.doubt(text)
    if doubt is None:
        return len(text)
    return doubt.start() if scanner.begun(text, doubt.start()) else -1


_remembered_find = lru_cache(REMEMBERED)(_find)
_remembered = lru_cache(REMEMBERED)(_settled)
"""Chunks are tokens, which repeat: a lookup of one's content takes a third of the time of another search."""


class _Patterns(NamedTuple):
    """The patterns that find some markers. See `Scanner` for `begun`, `doubt` and `firsts`."""

    full: re.Pattern[str]
    """A group for each spelling, the longest first."""
    numbers: tuple[int, ...]
    """The marker of each group."""
    begun: Callable[..., re.Match[str] | None]
    doubt: Callable[..., re.Match[str] | None]
    space: Callable[..., re.Match[str] | None]
    """Whether a text ends in white space that may continue."""
    firsts: str
    memory: int
    """Bytes that the patterns take."""


_Set: TypeAlias = tuple[tuple[Marker, ...], bool]
_made: Recent[_Set, _Patterns] = Recent(PATTERNS, PATTERNS_BYTES)


def _patterns(marks: tuple[Marker, ...], *, leading_space: bool) -> _Patterns:
    """Return the patterns of these markers. Raises `BadOpen` for one that is too long."""
    key = marks, leading_space
    if (known := _made.get(key)) is None:
        known = _compiled(marks, leading_space=leading_space)
        _made.put(key, known, known.memory)
    return known


def _compiled(marks: tuple[Marker, ...], *, leading_space: bool) -> _Patterns:
    if (size := sum(len(text) for mark in marks for text in mark.spellings)) > SPELLED_CHARS:
        raise BadOpen(f"markers of these options have {size} characters together; at most {SPELLED_CHARS}")
    written = [
        (atoms, mark, number)
        for number, mark in enumerate(marks)
        for atoms in spelled(mark, leading_space=leading_space)
    ]
    written.sort(key=lambda entry: -len(entry[0]))
    sequences = [[*atoms, *after] for atoms, mark, _ in written for after in mark.ahead or [()]]
    if (longest := max(map(len, sequences), default=0)) > ATOMS:
        raise BadOpen(f"markers of these options are {longest} characters long, with what follows; at most {ATOMS}")
    whole = [f"({''.join(atoms)}){_follows(mark)}" for atoms, mark, _ in written]
    kinds = (_as_beginning, _as_whole_or_beginning, _as_far_as_space)
    texts = ["|".join(whole) or _NOWHERE, *(_any_of(sequences, ends) for ends in kinds)]
    if (size := sum(map(len, texts))) > PATTERN_CHARS:
        raise BadOpen(f"markers of these options make patterns of {size} characters; at most {PATTERN_CHARS}")
    full, begun, doubt, space = map(re.compile, texts)
    return _Patterns(
        full=full,
        numbers=tuple(number for _, _, number in written),
        begun=begun.match,
        doubt=doubt.search,
        space=space.match,
        firsts="".join(sorted({sign for mark in marks for text in mark.spellings for sign in _firsts(mark, text)})),
        memory=sum(getsizeof(pattern) + len(pattern.pattern) for pattern in (full, begun, doubt, space)),
    )


def spelled(mark: Marker, *, leading_space: bool = False) -> list[list[str]]:
    """Return each spelling as a list of patterns: single characters, and white space where it is allowed."""
    written = []
    for text in mark.spellings:
        atoms, last = [LEADING_SPACE] if leading_space else [], ""
        for word in _WORD_OR_SIGN.findall(text) if mark.spaces else [text]:
            if mark.spaces and atoms and atoms[-1] != LEADING_SPACE:
                atoms.append(LEADING_SPACE if "{" in text and {word, last} & _JSON else INNER_SPACE)
            last = word
            atoms.extend(literal(word, any_case=mark.any_case))
        if mark.inner:
            atoms.insert(-1, f"(?:{mark.inner}){{0,{INNER_CHARS}}}")
        written.append(atoms)
    return written


def _firsts(mark: Marker, text: str) -> str:
    """Return the characters that a spelling may begin with."""
    return text[0].lower() + text[0].upper() if mark.any_case else text[0]


# Common parts of sequences are written once. A set of markers with what may follow them has hundreds of sequences,
# which begin alike, and Python takes milliseconds to compile each kilobyte of a pattern.

_HERE = ""
_NOWHERE = "(?!)"
_AT_THE_END = r"\Z"


_Ends = Callable[[str, Sequence[Sequence[str]]], str]
"""Returns what may end a sequence after an atom, by that atom and all continuations of sequences there."""


def _any_of(sequences: Iterable[Sequence[str]], ends: _Ends) -> str:
    """Return a pattern for any of these sequences of atoms, or for the parts of them that `ends` selects."""
    return "|".join(_branches(sequences, ends)) or _NOWHERE


def _branches(sequences: Iterable[Sequence[str]], ends: _Ends) -> list[str]:
    by_atom: dict[str, list[Sequence[str]]] = {}
    for atom, *rest in sequences:
        by_atom.setdefault(atom, []).append(rest)
    branches = []
    for atom, rests in by_atom.items():
        end = ends(atom, rests)
        after = [] if end == _NOWHERE else [end]
        after += _branches(filter(None, rests), ends) if end != _HERE else []
        if after:
            branches.append(atom + (after[0] if len(after) == 1 else f"(?:{'|'.join(after)})"))
    return branches


def _as_whole(_atom: str, rests: Sequence[Sequence[str]]) -> str:
    return _HERE if [] in rests else _NOWHERE


def _as_beginning(_atom: str, rests: Sequence[Sequence[str]]) -> str:
    """End a proper beginning, which the end of the text cuts off."""
    return _AT_THE_END if any(rests) else _NOWHERE


def _as_whole_or_beginning(_atom: str, rests: Sequence[Sequence[str]]) -> str:
    return _HERE if [] in rests else _AT_THE_END


def _as_far_as_space(atom: str, _rests: Sequence[Sequence[str]]) -> str:
    """End at some white space, which the end of the text cuts off."""
    return _AT_THE_END if atom == LEADING_SPACE else _NOWHERE


def _follows(mark: Marker) -> str:
    """Return a pattern for what must follow the marker: nothing, if its text may continue in that way."""
    return f"(?={_any_of(mark.ahead, _as_whole)})" if mark.ahead and () not in mark.ahead else ""


# What scanners return is mostly a member of an enumeration.

E = TypeVar("E", bound=Enum)


def plain_members(kind: type[E]) -> type[E]:
    """Return the same members as attributes of a plain class, which can't be called or iterated over.

    In CPython 3.11 the metaclass of `Enum` handles each access to a member, which can take half as long as a chunk. A
    plain class takes a tenth of that.
    """
    return cast("type[E]", type(kind.__name__, (), {"__doc__": kind.__doc__, **kind.__members__}))
