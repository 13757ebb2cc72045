"""Calls with bare keys and quotes of the model's own: `{city:<|"|>Paris<|"|>,days:3,where:{lat:48.9}}`.

1. A string is raw text between two quote markers: there is no escape, and signs inside it mean nothing. A quote behind
   which the call can't go on breaks it.
2. Brackets nest outside of strings; the bracket that closes the outermost ends the call. A marker of what surrounds the
   call ends it too, if nothing else is open.
3. What stands without quotes gets its type from the tool's schema, else `untyped` says. A bare `None` is null unless
   the schema wants text there. Where the model quotes numbers too (`quoted="typed"`), the same goes for strings.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from enum import IntEnum
from typing import Any, Literal

import msgspec

from tokenmill.events import AnyEvent, ArgumentDelta, Encoding, ToolInputDelta
from tokenmill.limits import JSON_DEPTH, NAME_CHARS
from tokenmill.parser.bodies.base import Reader
from tokenmill.parser.bodies.literal_scan import Sign, follow, literal_scan
from tokenmill.parser.bodies.literal_values import Syntax, read_arguments
from tokenmill.parser.body_state import LiteralState
from tokenmill.parser.calls import Verdict, end_growth, grow, send_source, wants
from tokenmill.parser.coerce import is_text
from tokenmill.parser.markers import Marker
from tokenmill.parser.members import at_hand
from tokenmill.parser.rules import Rules
from tokenmill.parser.run import Run
from tokenmill.parser.state import OpenCall, State

_OPENERS = {"}": "{", "]": "["}

_TEXT: AbstractSet[str] = frozenset()
_JSON: AbstractSet[str] = frozenset({"json"})


@at_hand
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

    def __init__(self, literals: Literals, stops: Sequence[Marker]) -> None:
        self._syntax = Syntax(literals.quote.spellings[0], literals.quoted == "typed", literals.loose)
        self._untyped = _JSON if literals.untyped == "json" else _TEXT
        kept = tuple(stop for stop in stops if not _is_key(stop))
        self._scan = literal_scan(literals.quote, kept, tuple(stops), loose=literals.loose)
        self._first, self._settled = self._scan.string.first, self._scan.string.settled

    def begin(self, call: OpenCall) -> LiteralState:
        return LiteralState(begin=call.source.size)

    def quick(self, rules: Rules, parser: State, call: OpenCall, text: str) -> list[AnyEvent] | None:
        state: LiteralState = call.body  # type: ignore[assignment] # -- the hottest path: `begin` made it
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
            if hit.value is Sign.STOP:
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
        """Take the text before a sign: how much of it; a key has a bound."""
        if state.naming:
            text = text[: NAME_CHARS - len(state.key)]
            state.key += text
        elif state.growth:
            _grow(run, call, state, text)
        return len(text)

    def _sign(self, run: Run, call: OpenCall, state: LiteralState, sign: Sign, character: str) -> Verdict:
        if sign is Sign.STRAY:
            return Verdict.FAILED
        if sign is Sign.QUOTE:
            self._turn(run, call, state)
        elif sign is Sign.OPEN:
            if len(state.stack) == JSON_DEPTH or state.naming:
                return Verdict.FAILED
            state.stack += character
        elif sign is Sign.CLOSE:
            if state.stack[-1] != _OPENERS[character]:
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

    def _separate(self, state: LiteralState, sign: Sign) -> None:
        """A colon or comma of the outermost level."""
        if sign is Sign.COMMA:
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
