"""Calls as tagged parameters, `<parameter=KEY>VALUE</parameter>`, or as pairs of tags for key and value.

1. A value is raw text up to its closing marker, the next opening one or the end of the call: there is no escape. In
   pairs of tags an opening says less, and is content.
2. White space at the sides of a value may belong to the layout; `trim` says how much.
3. The tool's schema gives the value its type once the call is complete, else its tag does, else `untyped`. Only a value
   that is certain to be text is sent as it grows; where `null` is allowed, too, it waits while it can still be that.
"""

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from tokenmill.events import AnyEvent, ArgumentDelta, Encoding, ToolInputDelta
from tokenmill.limits import NAME_CHARS
from tokenmill.parser.bodies.base import Reader
from tokenmill.parser.bodies.trim import LAYOUTS, Trim
from tokenmill.parser.bodies.wrapping import may_wrap, read_object, unwrapped
from tokenmill.parser.body_state import ParamsState
from tokenmill.parser.calls import Verdict, end_growth, grow, send_source, wants
from tokenmill.parser.coerce import is_text, read_typed
from tokenmill.parser.markers import Marker, Scanner, marker
from tokenmill.parser.run import Run
from tokenmill.parser.state import OpenCall

if TYPE_CHECKING:
    from tokenmill.parser.grammar import Grammar

TAG_CHARS = 2 * NAME_CHARS
"""A tag before it stops being one: a key, a type, and words around them."""


Untyped: TypeAlias = Literal["text", "json"]
"""What a value is of which nothing says the type: its text, or the JSON that it is, if it is any."""


class Edge(IntEnum):
    """What a marker inside the body means."""

    OPEN = 0
    """A parameter begins; its key follows."""
    CLOSE = 1
    """A value ends."""
    END = 2
    """The call ends with this marker."""
    STOP = 3
    """The call ends in front of this marker, which belongs to what surrounds it."""
    NAMED = 4
    """A tag ends; the value follows."""


class Growth(IntEnum):
    """Whether an open value is sent as it grows."""

    NO = 0
    UNDECIDED = 1
    """It can still be `null`."""
    YES = 2


class Params(msgspec.Struct, frozen=True):
    """Tagged parameters."""

    open: Marker
    """Begins a parameter's tag, which holds its key."""
    close: Marker
    """Ends the value."""
    end: Marker
    """Ends the call."""
    tag_end: Marker = marker(">")
    """Ends the tag; in pairs of tags it is what stands between key and value."""
    key: str = r"\s*(?P<key>.*?)\s*"
    """What a tag must look like as a whole: a regular expression with the groups `key` and, if any, `type`."""
    trim: Trim = "line"
    untyped: Untyped = "text"
    """What a value is of which nothing gives the type: its text, or the JSON that it is, if it is any."""
    wire_types: dict[str, str] = {}
    """What the group `type` stands for: JSON types, space between them; `json` for any."""
    closed: bool = False
    """Values are always closed: what looks like the next opening is part of them."""

    def compile(self, stops: Sequence[Marker]) -> Reader:
        """The reader of this body."""
        return _ParamsReader(self, stops)


class _ParamsReader:
    encoding: Encoding = "xml"

    def __init__(self, params: Params, stops: Sequence[Marker]) -> None:
        self._params = params
        self._key = re.compile(params.key, re.DOTALL)
        self._wire_types = {name: frozenset(kinds.split()) for name, kinds in params.wire_types.items()}
        self._untyped = frozenset({"json"}) if params.untyped == "json" else frozenset[str]()
        self._layout = LAYOUTS[params.trim]
        inside = [(params.open, Edge.OPEN), (params.close, Edge.CLOSE), (params.end, Edge.END)]
        outside = [(stop, Edge.STOP) for stop in stops]
        self._value = Scanner(inside[1:] if params.closed else inside)
        self._between = Scanner([*inside, *outside])
        self._tag = Scanner([(params.tag_end, Edge.NAMED), inside[0], inside[2], *outside])

    def begin(self, call: OpenCall) -> ParamsState:
        return ParamsState(begin=call.source.size)

    def quick(self, grammar: "Grammar", call: OpenCall, text: str) -> list[AnyEvent] | None:
        state: ParamsState = call.body  # type: ignore[assignment] # -- the hottest path: `begin` made it
        if state.value < 0 or state.in_tag:
            return None
        for first in self._value.firsts:
            if first in text:
                return None
        if state.growth:
            return self._quick_growth(grammar, call, state, text)
        call.source.add(text)
        return [ToolInputDelta(call.id, text)] if grammar.streams_input and not call.dropped else []

    def _quick_growth(self, grammar: "Grammar", call: OpenCall, state: ParamsState, text: str) -> list[AnyEvent] | None:
        if state.growth == Growth.UNDECIDED or state.fresh or grammar.options.min_delta_chars:
            return None
        call.source.add(text)
        grown = state.tail + text
        if text[-1].isspace():
            grown = self._certain(state, grown)
        else:
            state.tail = ""
        events: list[AnyEvent] = [ToolInputDelta(call.id, text)] if grammar.streams_input else []
        if grown:
            events.append(ArgumentDelta(call.id, state.key, grown))
        return events

    def step(self, run: Run, call: OpenCall, buffer: str, position: int) -> tuple[int, Verdict]:
        state = call.body
        assert isinstance(state, ParamsState)
        first, base, verdict = position, call.source.size - position, Verdict.MORE
        while True:
            scanner = self._tag if state.in_tag else self._value if state.value >= 0 else self._between
            hit = scanner.find(buffer, position, final=run.final)
            stop = len(buffer) if hit is None else hit.start
            if state.in_tag:
                room = TAG_CHARS - len(state.tag)
                if stop - position > room:
                    position, verdict = position + room, Verdict.FAILED
                    break
                state.tag += buffer[position:stop]
            elif state.growth:
                self._grow(run, call, state, buffer[position:stop])
            position = stop
            if hit is None or hit.end < 0:
                break
            if hit.value is Edge.NAMED:
                if not self._open(run, call, state, base + hit.end):
                    verdict = Verdict.FAILED
                    break
                position = hit.end
                continue
            if state.value >= 0:
                self._close(run, call, state, base + stop)
            state.in_tag, state.tag = hit.value is Edge.OPEN, ""
            if hit.value in (Edge.END, Edge.STOP):
                state.end = base + stop
                send_source(run, call, buffer[first:stop])
                return hit.end if hit.value is Edge.END else stop, Verdict.DONE
            position = hit.end
        send_source(run, call, buffer[first:position])
        return position, verdict

    def _open(self, run: Run, call: OpenCall, state: ParamsState, begin: int) -> bool:
        """A tag is complete: its value begins at `begin`. False if it is no tag."""
        found = self._key.fullmatch(state.tag)
        if found is None:
            return False
        state.in_tag, state.key, state.wire_type = False, found["key"], found.groupdict().get("type") or ""
        state.value = begin
        if wants(run, call, state.key) and not may_wrap(run.grammar, call.name, state.key):
            text = is_text(self._types(run.grammar, call, state.key, state.wire_type))
            state.growth = Growth.YES if text else Growth.NO if text is False else Growth.UNDECIDED
            state.fresh = self._layout.most
        return True

    def _types(self, grammar: "Grammar", call: OpenCall, key: str, wire_type: str) -> frozenset[str]:
        """The JSON types that a value may have: by the schema, else by its tag, else by the format."""
        return grammar.types(call.name, key) or self._wire_types.get(wire_type, self._untyped)

    def _certain(self, state: ParamsState, text: str) -> str:
        """What of a value's text can't be layout at its end; the rest waits in `tail`."""
        kept = text if state.verbatim else self._layout.certain(text)
        state.tail = text[len(kept) :]
        return kept

    def _grow(self, run: Run, call: OpenCall, state: ParamsState, text: str) -> None:
        """More of a value that is sent as it grows."""
        if state.fresh:
            layout = self._layout.leading(text, state.fresh)
            state.verbatim = self._layout.paired and bool(text) and not layout
            text = text[layout:]
            state.fresh = 0 if text else state.fresh - layout
        text = state.tail + text
        if state.growth == Growth.UNDECIDED:
            if "null".startswith(self._layout.certain(text).lower()):
                state.tail = text
                return
            state.growth = Growth.YES
        grow(run, call, state.key, self._certain(state, text))

    def _close(self, run: Run, call: OpenCall, state: ParamsState, end: int) -> None:
        """A value ends at `end`."""
        if state.growth == Growth.UNDECIDED and (text := self._layout.certain(state.tail)).lower() != "null":
            grow(run, call, state.key, text)
        end_growth(run, call)
        state.values.append((state.key, state.wire_type, state.value, end))
        state.value, state.growth, state.tail, state.fresh, state.verbatim = -1, Growth.NO, "", 0, False

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:
        state = call.body
        assert isinstance(state, ParamsState)
        source = call.source.text()
        if not state.values:
            return read_object(source[state.begin : state.end] if state.end >= 0 else "")
        read = {
            key: read_typed(self._layout.whole(source[begin:end]), self._types(run.grammar, call, key, wire_type))
            for key, wire_type, begin, end in state.values
        }
        arguments, repaired = unwrapped(run.grammar, call.name, {key: value for key, (value, _) in read.items()})
        return arguments, repaired or any(repaired for _, repaired in read.values())
