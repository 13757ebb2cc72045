"""Calls written in Python: `get_weather(city="Paris", days=3)`, keyword arguments with literal values.

1. The opening is the first letter of the name. The bracket that closes the call ends it, wherever strings end.
2. Nothing is evaluated: anything but a literal breaks its call, and its siblings stay. A call that is text because of
   its name is still read to its end.
3. A string argument is text whatever the schema wants, so it is sent as it grows.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from tokenmill.events import AnyEvent, ArgumentDelta, Encoding, ToolInputDelta
from tokenmill.limits import JSON_DEPTH, NAME_CHARS
from tokenmill.parser.bodies.json_scan import in_string, turned
from tokenmill.parser.markers import REMEMBERED, TOKEN_CHARS, Marker, Scanner, end_of, has_only
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.run import Reader, Run, Verdict, begin, end_growth, grow, send_source, wants
from tokenmill.parser.run.state import OpenCall, State, looked_at
from tokenmill.parser.values.python import (
    ENDINGS,
    Endings,
    Separator,
    content_end,
    decode_certain,
    decode_python,
    opening_quote,
    read_value,
    string_closes,
)

_NAME = re.compile(rf"[\w.\-]{{0,{NAME_CHARS + 1}}}+")
_KEY = re.compile(rf"\w{{0,{NAME_CHARS + 1}}}+")
"""Names, with one character more than is allowed, to show that one is too long. The reader looks at what follows."""
_SPACE = re.compile(r"\s*+")
_PREFIXES = ("", "r", "R", "u", "U")
_PYTHON = "()[]{},"
"""Characters that Python uses, too: a marker made only of these can't end a call."""
_LEAD_CHARS = max(len(prefix) for prefix in _PREFIXES) + 1
"""Characters kept of the text before a string: one more than a prefix can have."""

TEXT_CHARS = 512
"""Characters held of a call that is text because of its name, to find its end and the siblings after it."""


class PythonState(msgspec.Struct, array_like=True, gc=False):
    """The position in a call written in Python."""

    name: str = ""
    text: bool = False
    """Whether it names no tool, so that all of it is text."""
    begin: int = -1
    """Where the argument region begins: after the call's bracket; -1 until then."""
    end: int = -1
    """Where it ends, once it has."""
    key: str = ""
    """Keyword of the open argument, or the part of it that has come."""
    value: int = -1
    """Where the open value begins; -1 between values."""
    stack: str = ""
    """Open brackets inside it."""
    lead: str = ""
    """Its first characters before a string: the string's prefix, if any."""
    quote: str = ""
    """Quote of the open string."""
    escaped: bool = False
    """The character before was a backslash that escapes."""
    tail: str = ""
    """Half an escape at its end."""
    values: list[tuple[str, int, int]] = []
    """Keyword, start and end of each value."""
    torn: bool = False
    """The open string had a bare quote that did not end it."""


class PyCalls(msgspec.Struct, frozen=True):
    """One call; others follow after a comma or on the next line."""

    separator: Separator = ","
    """What stands between two calls."""

    def compile(self, stops: Sequence[Marker]) -> Reader:
        """Return the reader of this body."""
        return _PythonReader(self.separator, stops)


class _PythonReader:
    encoding: Encoding = "python"
    state_type = looked_at(PythonState)

    def __init__(self, separator: Separator, stops: Sequence[Marker]) -> None:
        beyond = [stop for stop in stops if not has_only(stop, _PYTHON)]
        self.endings = Endings(separator, beyond), Endings(separator, beyond, torn=True)
        self.stops = Scanner([(stop, None) for stop in beyond])
        firsts = re.escape(self.stops.firsts)
        self.signs = re.compile(rf"[\"'()\[\]{{}}{firsts}]")
        self.ends = re.compile(rf"[\"'()\[\]{{}},{firsts}]")

    def begin(self, call: OpenCall) -> PythonState:  # noqa: ARG002 # other bodies note where they begin
        return PythonState()

    def quick(self, rules: Rules, parser: State, call: OpenCall, text: str) -> list[AnyEvent] | None:
        state: PythonState = call.body
        quote = state.quote
        if not call.begun or not (quote or state.stack):
            return None
        growing = call.growing
        if growing:
            limit, waiting = rules.limits.delta_chars, rules.options.min_delta_chars
            if waiting or len(state.tail) + len(text) > limit:
                return None
        if quote[0] in text or "\\" in text or state.escaped if quote else self.signs.search(text):
            read = self._follow(state, text)
            if read < 0:
                return None
            if read < len(text):
                text, parser.held = text[:read], text[read:]
        events: list[AnyEvent] = []
        if growing and (grown := _certain(state, text) if state.tail or "\\" in text else text):
            events.append(ArgumentDelta(call.id, state.key, grown))
        if text and rules.streams_input and not call.dropped:
            events.append(ToolInputDelta(call.id, text))
        return events

    def _follow(self, state: PythonState, text: str) -> int:
        """Return how much of a chunk in brackets or a string is read; -1, and nothing is, if it needs care."""
        if state.stack:
            read = _remembered if len(text) <= TOKEN_CHARS else follow
            nested = read(self.signs, text, state.quote, state.stack, state.escaped)
            if nested is None:
                return -1
            state.quote, state.escaped, state.stack, end = nested
            return end
        if len(text) <= TOKEN_CHARS:  # to find the string's end, escapes are as in JSON
            inside = in_string(f"{state.quote[0]}\\{text}" if state.escaped else state.quote[0] + text)
            if inside is not None:
                state.escaped = inside
                return len(text)
        end, escaped = content_end(state.quote, text, 0, escaped=state.escaped)
        endings = self.endings[state.torn]
        if end < len(text) and string_closes(state.quote, text, end, "", endings, final=False) is not None:
            return -1
        state.escaped = escaped
        return end

    def step(self, run: Run, call: OpenCall, buffer: str, position: int) -> tuple[int, Verdict]:
        state: PythonState = call.body
        reading = _Reading(self, run, call, state, buffer, call.source.size - position, run.final)
        first, verdict = position, Verdict.MORE
        while position < len(reading.buffer) and verdict is Verdict.MORE:
            before = position
            if state.text:
                reading.cap()
            position, verdict = reading.next(position)
            if position == before:
                break
        if reading.capped and verdict is Verdict.MORE:
            call.bare = True  # nothing after it is taken for a part of the list
            return len(reading.buffer), Verdict.TEXT
        if state.begin >= 0:
            stop = position if state.end < 0 else state.end - reading.base
            send_source(run, call, buffer[max(first, state.begin - reading.base) : stop])
        return position, Verdict.TEXT if state.text and verdict is not Verdict.MORE else verdict

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:  # noqa: ARG002 # needs no tools
        state: PythonState = call.body
        source = call.source.text()
        read = {key: read_value(source[begin:end]) for key, begin, end in state.values}
        return {key: value for key, (value, _) in read.items()}, any(repaired for _, repaired in read.values())


class _Reading(msgspec.Struct, gc=False):  # faster to create than other objects
    """The context of one `step`; it lives no longer than that. Offsets into the source are `base` + a position.

    Its methods read from a position. They return the new position, which is the same if the rest must wait, and a
    verdict.
    """

    reader: _PythonReader
    run: Run
    call: OpenCall
    state: PythonState
    buffer: str
    base: int
    final: bool
    capped: bool = False

    def cap(self) -> None:
        """Let go of text that only looks like a call. The cap falls on the same character, whatever the chunks."""
        most = self.state.begin - self.base + TEXT_CHARS
        if len(self.buffer) > most:
            self.buffer, self.final, self.capped = self.buffer[:most], True, True

    def next(self, at: int) -> tuple[int, Verdict]:
        """Read the next piece, whatever is open."""
        state = self.state
        if state.quote:
            return self._string(at)
        if state.value >= 0:
            return self._value(at)
        return self._name(at) if state.begin < 0 else self._key(at)

    def _name(self, at: int) -> tuple[int, Verdict]:
        state = self.state
        at, state.name = self._word(_NAME, state.name, at)
        if at == len(self.buffer):
            return at, Verdict.MORE
        if self.buffer[at] != "(":
            return at, Verdict.FAILED
        state.name = state.name.rstrip()
        verdict = begin(self.run, self.call, state.name, "", self.reader.encoding)
        state.begin, state.text = self.base + at + 1, verdict is Verdict.TEXT
        return at + 1, Verdict.MORE if state.text else verdict

    def _key(self, at: int) -> tuple[int, Verdict]:
        state, buffer = self.state, self.buffer
        if not state.key:
            at = end_of(_SPACE, buffer, at)
        at, state.key = self._word(_KEY, state.key, at)
        if at == len(buffer):
            return at, Verdict.MORE
        if buffer[at] == "=" and state.key:
            state.key, state.value, state.lead = state.key.rstrip(), self.base + at + 1, ""
            return at + 1, Verdict.MORE
        if buffer[at] == ")" and not state.key:
            state.end = self.base + at
            return at + 1, Verdict.DONE
        return at, Verdict.FAILED

    def _word(self, pattern: re.Pattern[str], word: str, at: int) -> tuple[int, str]:
        """Read more of a name and the white space after it, of which one blank is kept: then the name is complete."""
        if word[-1:] != " ":
            end = min(end_of(pattern, self.buffer, at), at + NAME_CHARS - len(word))
            word, at = word + self.buffer[at:end], end
        end = end_of(_SPACE, self.buffer, at) if word else at
        return end, f"{word.rstrip()} " if end > at else word

    def _value(self, at: int) -> tuple[int, Verdict]:
        state, buffer = self.state, self.buffer
        found = self.reader.ends.search(buffer, at)
        sign_at = found.start() if found else len(buffer)
        if not state.stack and len(state.lead) < _LEAD_CHARS:
            state.lead += buffer[at:sign_at].strip()[:_LEAD_CHARS]
        if found is None:
            return sign_at, Verdict.MORE
        sign = found.group()
        if sign in "\"'":
            return self._open_string(sign_at)
        if sign not in _PYTHON:
            return self._stop(sign_at)
        if not state.stack and sign in ",)":
            state.values.append((state.key, state.value, self.base + sign_at))
            state.key, state.value = "", -1
            state.end = self.base + sign_at if sign == ")" else -1
            return sign_at + 1, Verdict.DONE if sign == ")" else Verdict.MORE
        stack = state.stack if sign == "," else turned(state.stack, sign, JSON_DEPTH - 1)
        state.stack = stack or ""
        return sign_at + 1, Verdict.FAILED if stack is None else Verdict.MORE

    def _stop(self, at: int) -> tuple[int, Verdict]:
        """Follow what surrounds the call: it may continue here, in the middle of a value."""
        hit = self.reader.stops.at(self.buffer, at, final=self.final)
        if hit is None:
            return at + 1, Verdict.MORE
        return at, Verdict.MORE if hit.end < 0 else Verdict.FAILED

    def _open_string(self, at: int) -> tuple[int, Verdict]:
        state = self.state
        quote = opening_quote(self.buffer, at, final=self.final)
        if quote is None:
            return at, Verdict.MORE
        state.quote = quote
        if not state.stack and state.lead in _PREFIXES and wants(self.run, self.call, state.key):
            grow(self.run, self.call, state.key, "")
        return at + len(quote), Verdict.MORE

    def _string(self, at: int) -> tuple[int, Verdict]:
        state, buffer = self.state, self.buffer
        stop, state.escaped = content_end(state.quote, buffer, at, escaped=state.escaped)
        endings = self.reader.endings[state.torn]
        closes = string_closes(state.quote, buffer, stop, state.stack[-1:], endings, final=self.final)
        if closes is False and stop < len(buffer):
            stop, state.torn = stop + 1, True
        if self.call.growing:
            grow(self.run, self.call, state.key, _certain(state, buffer[at:stop]))
        if closes:
            stop += len(state.quote)
            if self.call.growing:
                grow(self.run, self.call, state.key, decode_python(state.tail))
                end_growth(self.run, self.call)
            state.quote, state.tail, state.torn = "", "", False
        return stop, Verdict.MORE


def _certain(state: PythonState, raw: str) -> str:
    """Return the text of more string content, as far as it is certain; half an escape at its end waits in `tail`."""
    if state.lead in ("r", "R"):
        return raw
    text, state.tail = decode_certain(state.tail + raw)
    return text


# What is open inside lists and dictionaries, followed as they arrive, without building a value.


class Inside(NamedTuple):
    """What is open after a chunk, and how much of the chunk is read: the rest must wait."""

    quote: str
    escaped: bool
    stack: str
    read: int


def follow(signs: re.Pattern[str], text: str, quote: str, stack: str, escaped: bool) -> Inside | None:  # noqa: FBT001 -- a key of the cache
    """Read a chunk inside brackets; None if it leaves them, or must be read with care.

    `quote` is that of the open string, `stack` the open brackets; `escaped` if the character before was an escaping
    backslash. `signs` finds quotes, brackets, and what can begin a marker outside strings.
    """
    at = 0
    while at < len(text):
        if quote:
            at, escaped = content_end(quote, text, at, escaped=escaped)
            closes = string_closes(quote, text, at, stack[-1], ENDINGS, final=False)
            if closes is None:
                break
            at += len(quote) if closes else at < len(text)
            quote = "" if closes else quote
            continue
        found = signs.search(text, at)
        if found is None:
            at = len(text)
        elif found.group() in "\"'":
            at = found.start()
            opened = opening_quote(text, at, final=False)
            if opened is None:
                break
            quote = opened
            at += len(quote)
        else:
            inner = turned(stack, found.group(), JSON_DEPTH - 1)
            if not inner:
                return None
            at, stack = found.end(), inner
    return Inside(quote, escaped, stack, at)


_remembered = lru_cache(REMEMBERED)(follow)
