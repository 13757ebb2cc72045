"""Calls with bare keys and quotes of the model's own: `{city:<|"|>Paris<|"|>,days:3,where:{lat:48.9}}`.

1. A string is raw text between two quote markers: there is no escape, and characters inside it mean nothing. A quote
   behind which the call can't go on breaks it.
2. Brackets nest outside of strings; the bracket that closes the outermost ends the call. A marker of what surrounds the
   call ends it too, if nothing else is open.
3. What stands without quotes gets its type from the tool's schema, else `untyped` says. A bare `None` is null unless
   the schema wants text there. Where the model quotes numbers too (`quoted="typed"`), the same goes for strings.
"""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from enum import Enum, IntEnum
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import msgspec

from tokenmill.events import AnyEvent, ArgumentDelta, Encoding, ToolInputDelta
from tokenmill.limits import JSON_DEPTH, NAME_CHARS
from tokenmill.parser.bodies.base import Reader
from tokenmill.parser.bodies.json_scan import OPENERS, nested
from tokenmill.parser.enums import plain_members
from tokenmill.parser.markers import LEADING_SPACE, Hit, Marker, Scanner, before, following, literal, marker
from tokenmill.parser.run.calls import Verdict, end_growth, grow, send_source, wants
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.run import Run
from tokenmill.parser.run.state import OpenCall, State
from tokenmill.parser.values.coerce import is_text
from tokenmill.parser.values.literal import Syntax, read_arguments

# Follows bare keys and marked strings as they arrive, without building a value.
#
# What a chunk does depends only on the chunk and on what is open in front of it. Chunks are tokens, which repeat: so
# `follow` remembers what it found.

TOKEN_CHARS = 32
"""A chunk that may come again; longer ones do not."""

REMEMBERED = 4096
"""Chunks whose effect is remembered, about a megabyte in all: the characters between values make a few hundred."""

SCANS = 64
"""Kinds of marks in use at a time: one for each format, and for each suffix that its markers have."""


class LiteralState(msgspec.Struct, array_like=True, gc=False):
    """Where bare keys and marked strings stand."""

    begin: int = 0
    """Where the argument region begins."""
    end: int = -1
    """Where it ends, once it has."""
    stack: str = "{"
    """Open brackets."""
    quoted: bool = False
    """A string is open."""
    naming: bool = True
    """A key of the outermost level is open or expected."""
    key: str = ""
    """That key so far, or the key of the open value."""
    growth: int = 0
    """Whether the open string is sent as it grows: a `literal.Growth`."""
    waiting: str = ""
    """All of it while it can still be `null`."""


@plain_members
class LiteralToken(Enum):
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
    """The characters of one kind of marks, and of what surrounds the call.

    `around` is all that may stand behind the call. Where it is `loose`, a string ends its value: the comma in front of
    the next key may be missing.
    """

    def __init__(self, quote: Marker, stops: Sequence[Marker], around: Sequence[Marker] = (), *, loose: bool) -> None:
        self.loose = loose
        signs = [
            (quote, LiteralToken.QUOTE),
            (marker("{", "["), LiteralToken.OPEN),
            (marker("}", "]"), LiteralToken.CLOSE),
            (marker(":"), LiteralToken.COLON),
            (marker(","), LiteralToken.COMMA),
        ]
        self.string = _string(quote, _behind(quote, around, loose=loose))
        self._outer = _string(quote, _behind(quote, around, loose=loose, deep=False))
        self._structure = Scanner([*signs, *((stop, LiteralToken.STOP) for stop in stops)])
        self._deep = re.compile(f"[{re.escape(self._structure.firsts.translate(_SEPARATORS))}]")

    def find(self, text: str, at: int, *, quoted: bool, deep: bool, final: bool) -> Hit[LiteralToken] | None:
        """The next character, or what to hold; `deep` inside of brackets of a value."""
        scanner = self._structure if not quoted else self.string if deep else self._outer
        return scanner.find(text, at, final=final)

    def passes(self, text: str, stack: str) -> bool:
        """Whether nothing in the text has a meaning inside of these brackets, outside of strings."""
        return len(stack) > 1 and self._deep.search(text) is None


def _string(quote: Marker, behind: Sequence[tuple[str, ...]]) -> Scanner[LiteralToken]:
    """Where a string ends, and a quote that does not end it."""
    return Scanner([(before(quote, behind), LiteralToken.QUOTE), (quote, LiteralToken.STRAY)])


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
        if hit.value is LiteralToken.QUOTE:
            quoted = not quoted
            outer = not naming and len(stack) == 1
            strings = strings or (quoted and outer)
            if scan.loose and outer and not quoted:
                naming, key, begins = True, "", True
        elif hit.value in (LiteralToken.COLON, LiteralToken.COMMA):
            if len(stack) == 1 and hit.value is LiteralToken.COMMA:
                naming, key, begins = True, "", True
            elif len(stack) == 1:
                naming = False
        else:
            inner = (
                None if naming or hit.value in (LiteralToken.STOP, LiteralToken.STRAY) else nested(stack, text[stop])
            )
            if inner is None:
                return None
            stack = inner


_TEXT: AbstractSet[str] = frozenset()
_JSON: AbstractSet[str] = frozenset({"json"})


@plain_members
class Growth(IntEnum):
    """Whether the open string is sent as it grows."""

    NO = 0
    UNDECIDED = 1
    """It can still be `null`."""
    YES = 2


class Literals(msgspec.Struct, frozen=True):
    """Bare keys, and strings between markers. The call's header ends with the outermost bracket."""

    quote: Marker
    """Begins and ends a string; it has one spelling."""
    quoted: Literal["text", "typed"] = "text"
    """Whether what is quoted is always text, or typed like what is not."""
    untyped: Literal["text", "json"] = "text"
    """What a value is of which nothing gives the type: its text, or the JSON that it is, if it is any."""
    loose: bool = False
    """The comma between a string and the next key may be missing."""

    def compile(self, stops: Sequence[Marker]) -> Reader:
        """The reader of this body."""
        return _LiteralReader(self, stops)


class _LiteralReader:
    encoding: Encoding = "text"
    state_type = LiteralState

    def __init__(self, literals: Literals, stops: Sequence[Marker]) -> None:
        self._syntax = Syntax(literals.quote.spellings[0], literals.quoted == "typed", literals.loose)
        self._untyped = _JSON if literals.untyped == "json" else _TEXT
        kept = tuple(stop for stop in stops if not _is_key(stop))
        self._scan = literal_scan(literals.quote, kept, tuple(stops), loose=literals.loose)
        self._first, self._settled = self._scan.string.first, self._scan.string.settled

    def begin(self, call: OpenCall) -> LiteralState:
        return LiteralState(begin=call.source.size)

    def quick(self, rules: Rules, parser: State, call: OpenCall, text: str) -> list[AnyEvent] | None:
        state: LiteralState = call.body
        if not state.quoted or state.naming:
            return self._quick_structure(rules, parser, call, state, text)
        if state.growth and (state.growth == Growth.UNDECIDED or rules.options.min_delta_chars):
            return None
        if self._first in text and (settled := self._settled(text)) < len(text):
            if settled < 0:
                return None if state.growth else self._quick_structure(rules, parser, call, state, text)
            text, parser.held = text[:settled], text[settled:]
        events = _passed(rules, call, text)
        if state.growth and text:
            events.append(ArgumentDelta(call.id, state.key, text))
        return events

    def _quick_structure(
        self, rules: Rules, parser: State, call: OpenCall, state: LiteralState, text: str
    ) -> list[AnyEvent] | None:
        """The same for a chunk with keys, brackets or the ends of strings in it."""
        if state.quoted or state.naming or not self._scan.passes(text, state.stack):
            inside = follow(self._scan, text, state.stack, quoted=state.quoted, naming=state.naming)
            if inside is None or (inside.strings and rules.watches_arguments):
                return None
            if state.naming and len(state.key) + len(text) > NAME_CHARS:
                return None
            state.quoted, state.naming, state.stack, read, key, begins, _ = inside
            key = key if begins else state.key + key
            state.key = key if state.naming else key.strip()
            if read < len(text):
                text, parser.held = text[:read], text[read:]
        return _passed(rules, call, text)

    def step(self, run: Run, call: OpenCall, buffer: str, position: int) -> tuple[int, Verdict]:
        state = call.body
        assert isinstance(state, LiteralState)
        first, base = position, call.source.size - position
        verdict = Verdict.MORE
        while verdict is Verdict.MORE:
            deep = len(state.stack) > 1
            hit = self._scan.find(buffer, position, quoted=state.quoted, deep=deep, final=run.final)
            stop = len(buffer) if hit is None else hit.start
            taken = self._take(run, call, state, buffer[position:stop])
            if taken < stop - position:
                position, verdict = position + taken, Verdict.FAILED
                break
            position = stop
            if hit is None or hit.value is None:
                break
            if hit.value is LiteralToken.STOP:
                verdict = Verdict.DONE if state.stack == "{" else Verdict.FAILED
                state.end = base + stop
                break
            verdict = self._sign(run, call, state, hit.value, buffer[stop])
            position = hit.end
            if verdict is Verdict.DONE:
                state.end = base + stop
        send_source(run, call, buffer[first : state.end - base if state.end >= 0 else position])
        return position, verdict

    def _take(self, run: Run, call: OpenCall, state: LiteralState, text: str) -> int:
        """Take the text before a character: how much of it; a key has a bound."""
        if state.naming:
            text = text[: NAME_CHARS - len(state.key)]
            state.key += text
        elif state.growth:
            _grow(run, call, state, text)
        return len(text)

    def _sign(self, run: Run, call: OpenCall, state: LiteralState, sign: LiteralToken, character: str) -> Verdict:
        if sign is LiteralToken.STRAY:
            return Verdict.FAILED
        if sign is LiteralToken.QUOTE:
            self._turn(run, call, state)
        elif sign is LiteralToken.OPEN:
            if len(state.stack) == JSON_DEPTH or state.naming:
                return Verdict.FAILED
            state.stack += character
        elif sign is LiteralToken.CLOSE:
            if state.stack[-1] != OPENERS[character]:
                return Verdict.FAILED
            state.stack = state.stack[:-1]
            return Verdict.MORE if state.stack else Verdict.DONE
        elif len(state.stack) == 1:
            self._separate(state, sign)
        return Verdict.MORE

    def _turn(self, run: Run, call: OpenCall, state: LiteralState) -> None:
        """A string begins or ends."""
        state.quoted = not state.quoted
        if not state.quoted:
            _end_growth(run, call, state)
            if self._scan.loose and len(state.stack) == 1 and not state.naming:
                state.naming, state.key = True, ""
        elif len(state.stack) == 1 and not state.naming and wants(run, call, state.key):
            state.growth = self._growth(run.rules.types(call.name, state.key) or self._untyped)
            if state.growth == Growth.YES:
                grow(run, call, state.key, "")

    def _growth(self, types: AbstractSet[str]) -> Growth:
        text = is_text(types) if self._syntax.typed else True
        return Growth.YES if text else Growth.NO if text is False else Growth.UNDECIDED

    def _separate(self, state: LiteralState, sign: LiteralToken) -> None:
        """A colon or comma of the outermost level."""
        if sign is LiteralToken.COMMA:
            state.naming, state.key = True, ""
        elif state.naming:
            state.naming, state.key = False, state.key.strip()

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:
        state = call.body
        assert isinstance(state, LiteralState)
        region = call.source.text()[state.begin : state.end]
        return read_arguments(region, self._syntax, run.rules.shape(call.name), self._untyped), False


def _is_key(stop: Marker) -> bool:
    """Whether a marker looks like a key: what opens a call may be a key inside of one."""
    return any(spelling.endswith(":") for spelling in stop.spellings)


def _passed(rules: Rules, call: OpenCall, text: str) -> list[AnyEvent]:
    """What is sent of a chunk of source."""
    if not text:
        return []
    return [ToolInputDelta(call.id, text)] if rules.streams_input and not call.dropped else []


def _grow(run: Run, call: OpenCall, state: LiteralState, text: str) -> None:
    """More of a string that is sent as it grows."""
    if state.growth == Growth.UNDECIDED:
        state.waiting += text
        if "null".startswith(state.waiting.lower()):
            return
        text, state.waiting, state.growth = state.waiting, "", Growth.YES
    grow(run, call, state.key, text)


def _end_growth(run: Run, call: OpenCall, state: LiteralState) -> None:
    """The string ended that was growing, if one was."""
    if state.growth == Growth.UNDECIDED and state.waiting.lower() != "null":
        grow(run, call, state.key, state.waiting)
    if state.growth:
        end_growth(run, call)
    state.growth, state.waiting = Growth.NO, ""
