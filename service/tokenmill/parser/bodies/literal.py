"""Calls with bare keys and quotes of the model's own: `{city:<|"|>Paris<|"|>,days:3,where:{lat:48.9}}`.

1. A string is raw text between two quote markers: there is no escape, and characters inside it mean nothing. A quote
   after which the call can't continue breaks it.
2. Brackets nest outside strings; the bracket that closes the outermost ends the call. A marker of what surrounds the
   call also ends it, if nothing else is open.
3. The tool's schema gives the type of what stands without quotes; where it gives none, `untyped` decides. A bare `None`
   is null unless the schema wants text there. Where the model quotes numbers too (`quoted="typed"`), the same holds for
   strings.
4. A key or a text that stands without its quotes and is a whole JSON string is read as that string.
"""

import re
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import msgspec

from tokenmill.events import AnyEvent, ArgumentDelta, Encoding, ToolInputDelta
from tokenmill.limits import NAME_CHARS
from tokenmill.parser.bodies.json_scan import turned
from tokenmill.parser.markers import (
    LEADING_SPACE,
    REMEMBERED,
    SCANS,
    TOKEN_CHARS,
    Marker,
    Scanner,
    before,
    following,
    literal,
    marker,
    plain_members,
)
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.run import Reader, Run, Verdict, begin_growth, end_growth, grow, send_source, wants
from tokenmill.parser.run.state import OpenCall, State, looked_at
from tokenmill.parser.values.coerce import Syntax, is_text, read_arguments, unquoted


class LiteralState(msgspec.Struct, array_like=True, gc=False):
    """The position in bare keys and marked strings."""

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


@plain_members
class LiteralToken(Enum):
    """What has a meaning outside strings."""

    QUOTE = "a string begins or ends"
    OPEN = "a bracket opens"
    CLOSE = "a bracket closes"
    COLON = "a key ends"
    COMMA = "a value ends"
    STOP = "what surrounds the call continues"
    STRAY = "a string has a quote that does not end it"


@plain_members
class Action(Enum):
    """What a stretch of a chunk is in the outermost brackets."""

    KEY = "a key begins"
    NAME = "text of the key"
    NAMED = "the key is complete"
    BEGIN = "a string begins that is a value"
    TEXT = "text of it"
    END = "it ends"


class Advance(NamedTuple):
    """What a chunk does. This depends only on the chunk and on what is open before it."""

    stack: str
    quoted: bool
    naming: bool
    actions: Sequence[tuple[Action, int, int]]
    """Actions, each with the start and end of its stretch."""
    read: int
    """Characters that are read. The others must wait, or are not part of the call."""
    verdict: Verdict = Verdict.MORE
    end: int = -1
    """Where the argument region ends, if it does."""


_BEGIN, _END, _KEY, _NAMED = (Action.BEGIN,), (Action.END,), (Action.KEY,), (Action.NAMED,)

_SEPARATORS = str.maketrans("", "", ":,")
"""Signs that mean something only in the outermost brackets."""


class LiteralScan:
    """The characters of one kind of marks, and of what surrounds the call.

    `around` is all that may stand after the call. Where it is `loose`, a string ends its value: the comma before the
    next key may be missing.
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

    def live(self, *, quoted: bool, deep: bool) -> Scanner[LiteralToken]:
        """Return what means something in a string or outside; `deep` is inside brackets of a value."""
        return self._structure if not quoted else self.string if deep else self._outer

    def actions(self, token: LiteralToken, *, quoted: bool, naming: bool) -> tuple[Action, ...]:
        """Return what a token does in the outermost brackets."""
        if naming:
            return {LiteralToken.COLON: _NAMED, LiteralToken.COMMA: _KEY}.get(token, ())
        if token is LiteralToken.QUOTE:
            return (_END + _KEY if self.loose else _END) if quoted else _BEGIN
        return _KEY if token is LiteralToken.COMMA else ()

    def passes(self, text: str, stack: str) -> bool:
        """Whether nothing in the text has a meaning inside these brackets, outside strings."""
        return len(stack) > 1 and self._deep.search(text) is None


def _string(quote: Marker, behind: Sequence[tuple[str, ...]]) -> Scanner[LiteralToken]:
    """Return the scanner for the end of a string, and for a quote that does not end it."""
    return Scanner([(before(quote, behind), LiteralToken.QUOTE), (quote, LiteralToken.STRAY)])


def _behind(quote: Marker, around: Sequence[Marker], *, loose: bool, deep: bool = True) -> list[tuple[str, ...]]:
    """Return what must follow the end of a string: there is no escape that marks a quote as content.

    After a bracket follows more of the same, unless it is the call's; or what surrounds the call; or nothing.
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
"""Return the scan for these marks: one for all messages, so that they share what is remembered."""


def advance(scan: LiteralScan, text: str, stack: str, quoted: bool, naming: bool, final: bool = False) -> Advance:  # noqa: FBT001, FBT002 -- keys of the cache
    """Read on in `text`. What is open before it is as in the state; `final` means that nothing follows it."""
    actions: list[tuple[Action, int, int]] = []
    at = 0
    while True:
        outer = len(stack) == 1
        hit = scan.live(quoted=quoted, deep=not outer).find(text, at, final=final)
        stop = len(text) if hit is None else hit.start
        if at < stop and (naming or (quoted and outer)):
            actions.append((Action.NAME if naming else Action.TEXT, at, stop))
        if hit is None or hit.value is None:
            return Advance(stack, quoted, naming, actions, stop)
        token, at = hit.value, hit.end
        if token is LiteralToken.STOP:
            verdict = Verdict.DONE if stack == "{" else Verdict.FAILED
            return Advance(stack, quoted, naming, actions, stop, verdict, stop)
        inner = turned(stack, text[stop]) if token in (LiteralToken.OPEN, LiteralToken.CLOSE) else stack
        if inner is None or token is LiteralToken.STRAY or (naming and token is LiteralToken.OPEN):
            return Advance(stack, quoted, naming, actions, at, Verdict.FAILED)
        if not inner:
            return Advance(inner, quoted, naming, actions, at, Verdict.DONE, stop)
        stack = inner
        for action in scan.actions(token, quoted=quoted, naming=naming) if outer else ():
            actions.append((action, stop, at))
            naming = action is Action.KEY or (naming and action is not Action.NAMED)
        quoted ^= token is LiteralToken.QUOTE


_known = lru_cache(REMEMBERED)(advance)


class Literals(msgspec.Struct, frozen=True):
    """Bare keys, and strings between markers. The call's header ends with the outermost bracket."""

    quote: Marker
    """Begins and ends a string. It has one spelling."""
    quoted: Literal["text", "typed"] = "text"
    """Whether what is quoted is always text, or typed like what is not quoted."""
    untyped: Literal["text", "json"] = "text"
    """How a value without any known type is read: as its text, or as JSON if it is valid."""
    loose: bool = False
    """Whether the comma between a string and the next key may be missing."""

    def compile(self, stops: Sequence[Marker]) -> Reader:
        """Return the reader of this body."""
        return _LiteralReader(self, stops)


class _LiteralReader:
    encoding: Encoding = "text"
    state_type = looked_at(LiteralState)

    def __init__(self, literals: Literals, stops: Sequence[Marker]) -> None:
        self._syntax = Syntax(literals.quote.spellings[0], literals.quoted == "typed", literals.loose)
        self._untyped = frozenset({"json"} if literals.untyped == "json" else ())
        # What opens a call may be a key inside a call.
        kept = tuple(stop for stop in stops if not any(text.endswith(":") for text in stop.spellings))
        self._scan = literal_scan(literals.quote, kept, tuple(stops), loose=literals.loose)
        self._first, self._settled = self._scan.string.first, self._scan.string.settled

    def begin(self, call: OpenCall) -> LiteralState:
        return LiteralState(begin=call.source.size)

    def quick(self, rules: Rules, parser: State, call: OpenCall, text: str) -> list[AnyEvent] | None:
        state: LiteralState = call.body
        growing = call.growing
        if growing and (growing.undecided or rules.options.min_delta_chars):
            return None
        if state.quoted and not state.naming:
            read = self._settled(text) if self._first in text else len(text)
        else:
            read = -1 if state.quoted or not self._scan.passes(text, state.stack) else len(text)
        if read < len(text):
            if read < 0 and (read := self._follow(rules, state, text)) < 0:
                return None
            text, parser.held = text[:read], text[read:]
        events: list[AnyEvent] = []
        if growing and text:
            events.append(ArgumentDelta(call.id, state.key, text))
        if text and rules.streams_input and not call.dropped:
            events.append(ToolInputDelta(call.id, text))
        return events

    def _follow(self, rules: Rules, state: LiteralState, text: str) -> int:
        """Return how much is read of a chunk in which something has a meaning; -1 if none of it is."""
        if len(text) > TOKEN_CHARS or (state.naming and len(state.key) + len(text) > NAME_CHARS):
            return -1
        did = _known(self._scan, text, state.stack, state.quoted, state.naming)
        if did.verdict is not Verdict.MORE:
            return -1
        if rules.watches_arguments and any(action in (Action.BEGIN, Action.END) for action, _, _ in did.actions):
            return -1
        for action, begin, end in did.actions:
            _name(state, action, text[begin:end])
        state.stack, state.quoted, state.naming = did.stack, did.quoted, did.naming
        return did.read

    def step(self, run: Run, call: OpenCall, buffer: str, position: int) -> tuple[int, Verdict]:
        state: LiteralState = call.body
        text = buffer[position:]
        did = advance(self._scan, text, state.stack, state.quoted, state.naming, run.final)
        if run.final and self._is_undecided(run, state, text, did):
            send_source(run, call, text)
            return len(buffer), Verdict.MORE
        read, verdict, end = did.read, did.verdict, did.end
        for action, begin, stop in did.actions:
            taken = self._act(run, call, state, action, text[begin:stop])
            if taken < stop - begin:
                read, verdict, end = begin + taken, Verdict.FAILED, -1
                break
        state.stack, state.quoted, state.naming = did.stack, did.quoted, did.naming
        if end >= 0:
            state.end = call.source.size + end
        send_source(run, call, text[: read if end < 0 else end])
        return position + read, verdict

    def _is_undecided(self, run: Run, state: LiteralState, text: str, did: Advance) -> bool:
        """Whether only the end of the stream breaks the call or, in an answer that was cut off, closes a string."""
        half = run.cut and did.verdict is Verdict.DONE and did.stack
        if not half and did.verdict is not Verdict.FAILED:
            return False
        return advance(self._scan, text, state.stack, state.quoted, state.naming).verdict is Verdict.MORE

    def _act(self, run: Run, call: OpenCall, state: LiteralState, action: Action, text: str) -> int:
        """Do one action with its stretch of text. Return how much of that is taken, for a key has a bound."""
        if action is Action.NAME:
            text = text[: NAME_CHARS - len(state.key)]
        _name(state, action, text)
        if action is Action.BEGIN and wants(run, call, state.key):
            types = run.rules.types(call.name, state.key) or self._untyped
            begin_growth(call, state.key, is_text(types) if self._syntax.typed else True)
        elif action is Action.TEXT and call.growing:
            grow(run, call, state.key, text)
        elif action is Action.END:
            end_growth(run, call)
        return len(text)

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:
        state: LiteralState = call.body
        region = call.source.text()[state.begin : state.end]
        return read_arguments(region, self._syntax, run.rules.shape(call.name), self._untyped)


def _name(state: LiteralState, action: Action, text: str) -> None:
    """Follow the open key."""
    if action is Action.NAME:
        state.key += text
    elif action is Action.KEY:
        state.key = ""
    elif action is Action.NAMED:
        state.key = unquoted(state.key.strip())
