"""Calls as tagged parameters: `<parameter=KEY>VALUE</parameter>` one after another.

1. A value is raw text up to its closing marker, the next opening one or the end of the call: there is no escape.
2. One new line at each side belongs to the layout and is trimmed.
3. The tool's schema gives the value its type, once the call is complete. Only a value that is certain to be text is
   sent as it grows; where `null` is allowed, too, it waits while it can still be that.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import msgspec

from tokenmill.events import AnyEvent, ArgumentDelta, Encoding, ToolInputDelta
from tokenmill.limits import NAME_CHARS
from tokenmill.parser.bodies.base import Reader
from tokenmill.parser.body_state import ParamsState
from tokenmill.parser.calls import Verdict, end_growth, grow, send_source, wants
from tokenmill.parser.coerce import coerce, is_text
from tokenmill.parser.markers import Marker, Scanner
from tokenmill.parser.run import Run
from tokenmill.parser.state import OpenCall

if TYPE_CHECKING:
    from tokenmill.parser.grammar import Grammar


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


class Growth(IntEnum):
    """Whether an open value is sent as it grows."""

    NO = 0
    UNDECIDED = 1
    """It can still be `null`."""
    YES = 2


class Params(msgspec.Struct, frozen=True):
    """Tagged parameters."""

    open: Marker
    """Begins a parameter's tag, which holds its key and ends with `>`."""
    close: Marker
    end: Marker
    """Ends the call."""

    def compile(self, stops: Sequence[Marker]) -> Reader:
        """The reader of this body."""
        return _ParamsReader(self, stops)


class _ParamsReader:
    encoding: Encoding = "xml"

    def __init__(self, params: Params, stops: Sequence[Marker]) -> None:
        inside = [(params.open, Edge.OPEN), (params.close, Edge.CLOSE), (params.end, Edge.END)]
        self._value = Scanner(inside)
        self._between = Scanner([*inside, *((stop, Edge.STOP) for stop in stops)])

    def begin(self, call: OpenCall) -> ParamsState:
        return ParamsState(begin=call.source.size)

    def quick(self, grammar: "Grammar", call: OpenCall, text: str) -> list[AnyEvent] | None:
        state = call.body
        assert isinstance(state, ParamsState)
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
        state.tail = "\n" if grown.endswith("\n") else ""
        if state.tail:
            grown = grown[:-1]
        events: list[AnyEvent] = [ToolInputDelta(call.id, text)] if grammar.streams_input else []
        if grown:
            events.append(ArgumentDelta(call.id, state.key, grown))
        return events

    def step(self, run: Run, call: OpenCall, buffer: str, position: int) -> tuple[int, Verdict]:
        state = call.body
        assert isinstance(state, ParamsState)
        first, base = position, call.source.size - position
        while True:
            if state.in_tag:
                position, too_long = self._tag(run, call, state, buffer, position, base)
                if too_long:
                    send_source(run, call, buffer[first:position])
                    return position, Verdict.FAILED
                if state.in_tag:
                    break
            scanner = self._value if state.value >= 0 else self._between
            hit = scanner.find(buffer, position, final=run.final)
            stop = len(buffer) if hit is None else hit.start
            if state.value >= 0 and state.growth:
                self._grow(run, call, state, buffer[position:stop])
            if hit is None or hit.end < 0:
                position = stop
                break
            if state.value >= 0:
                self._close(run, call, state, base + stop)
            if hit.value in (Edge.END, Edge.STOP):
                send_source(run, call, buffer[first:stop])
                return hit.end if hit.value is Edge.END else stop, Verdict.DONE
            position = hit.end
            if hit.value is Edge.OPEN:
                state.in_tag, state.tag = True, ""
        send_source(run, call, buffer[first:position])
        return position, Verdict.MORE

    def _tag(
        self, run: Run, call: OpenCall, state: ParamsState, buffer: str, position: int, base: int
    ) -> tuple[int, bool]:
        """Read a parameter's tag: the position read to, and whether it is too long to be one."""
        end = buffer.find(">", position)
        stop = len(buffer) if end < 0 else end
        room = NAME_CHARS - len(state.tag)
        if stop - position > room:
            return position + room, True
        state.tag += buffer[position:stop]
        if end < 0:
            return stop, False
        state.in_tag = False
        state.key = state.tag.strip()
        state.value = base + end + 1
        if wants(run, call, state.key):
            text = is_text(run.grammar.types(call.name, state.key))
            state.growth = Growth.YES if text else Growth.NO if text is False else Growth.UNDECIDED
            state.fresh = True
        return end + 1, False

    def _grow(self, run: Run, call: OpenCall, state: ParamsState, text: str) -> None:
        """More of a value that is sent as it grows: all but a last new line, which may be layout."""
        if state.fresh and text:
            text, state.fresh = text.removeprefix("\n"), False
        text = state.tail + text
        if state.growth == Growth.UNDECIDED:
            if "null\n".startswith(text.lower()):
                state.tail = text
                return
            state.growth = Growth.YES
        state.tail = "\n" if text.endswith("\n") else ""
        grow(run, call, state.key, text[: len(text) - len(state.tail)])

    def _close(self, run: Run, call: OpenCall, state: ParamsState, end: int) -> None:
        """A value ends at `end`."""
        if state.growth == Growth.UNDECIDED and state.tail.removesuffix("\n").lower() != "null":
            grow(run, call, state.key, state.tail.removesuffix("\n"))
        end_growth(run, call)
        state.values.append((state.key, state.value, end))
        state.value, state.growth, state.tail, state.fresh = -1, Growth.NO, "", False

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:
        state = call.body
        assert isinstance(state, ParamsState)
        source = call.source.text()
        return {
            key: coerce(source[begin:end].removeprefix("\n").removesuffix("\n"), run.grammar.types(call.name, key))
            for key, begin, end in state.values
        }, False
