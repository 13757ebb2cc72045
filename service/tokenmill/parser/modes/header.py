"""The mode inside a channel's header, and where a header leads.

1. A header is held until its end marker: only then is it clear what it was.
2. It is given up, as text, at the first character at which it no longer looks like a header; nothing is held longer.
3. The first pattern that fits the whole header decides where it leads. Without one it was text.
"""

import re
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TypeAlias

from tokenmill.events import AnyEvent
from tokenmill.parser.markers import Marker, Scanner, plain_members
from tokenmill.parser.modes.call import HEADER_CHARS, CallMode
from tokenmill.parser.modes.text import Quick, give_back, open_call, open_section
from tokenmill.parser.run.rules import TEXT, Rules
from tokenmill.parser.run.run import Run
from tokenmill.parser.run.state import State
from tokenmill.parser.spec import Channels


@plain_members
class Place(Enum):
    """Where a marker stands in a header."""

    END = "it ends the header"
    INSIDE = "it is a part of it, if the header's shape allows it"


Target: TypeAlias = Callable[[Run, re.Match[str]], None]
"""Begins what a complete header announced."""


def to_block(mode: int, run: Run, header: re.Match[str]) -> None:
    """Begin a block of text, reasoning or dropped content: the header is framing."""
    run.close_block()
    run.note("marker", header.string)
    run.state.mode = mode


def to_verbatim(mode: int, run: Run, header: re.Match[str]) -> None:
    """Begin a block of calls that are not parsed: it is text, header and all."""
    run.put(header.string, reasoning=False)
    run.state.mode = mode


def to_section(mode: int, run: Run, header: re.Match[str]) -> None:
    """Begin a section, whose opening is the header."""
    open_section(run.state, mode, header.string)


def to_call(mode: int, call_mode: CallMode, run: Run, header: re.Match[str]) -> None:
    """Begin a call that the header names."""
    state = run.state
    open_section(state, mode, header.string)
    open_call(state, mode, header.string, bare=False)
    assert state.call is not None
    call_mode.enter(run, state.call, header)


class HeaderMode:
    """Inside the header of one kind of channels."""

    def __init__(self, channels: Channels, routes: Sequence[tuple[str, Target]]) -> None:
        inside: list[Marker | None] = [channels.open, channels.close, channels.within]
        live = [(channels.until, Place.END), *((marker, Place.INSIDE) for marker in inside if marker)]
        self._scanner = Scanner(live)
        self._shape = re.compile(channels.shape, re.DOTALL)
        self._routes = [(re.compile(pattern, re.DOTALL), target) for pattern, target in routes]

    def quick(self, state: State) -> Quick | None:  # noqa: ARG002 -- other modes look at it
        return self._more

    def _more(self, rules: Rules, state: State, text: str) -> list[AnyEvent] | None:  # noqa: ARG002 -- a `Quick`
        settled = self._scanner.settled(text)
        if settled < 0:  # the header ends
            return None
        header = state.pending + text[:settled]
        if self._fitting(header) < len(header):
            return None
        state.pending, state.held = header, text[settled:]
        return []

    def step(self, run: Run, buffer: str, position: int) -> int:
        state = run.state
        hit = self._scanner.find(buffer, position, final=run.final)
        stop = len(buffer) if hit is None else hit.start
        header = state.pending + buffer[position:stop]
        fitting = self._fitting(header)
        if fitting < len(header):
            read = max(fitting, len(state.pending)) - len(state.pending)
            self._give_up(run, header[: len(state.pending) + read])
            return position + read
        state.pending = header
        if hit is None or hit.value is None:
            state.held = buffer[stop:]
            return len(buffer)
        header += buffer[stop : hit.end]
        if hit.value is Place.END:
            self._route(run, header)
        elif self._fitting(header) == len(header):
            state.pending = header
        else:
            self._give_up(run, state.pending)
            return stop
        return hit.end

    def _fitting(self, header: str) -> int:
        """Return how much of a header's beginning looks like one."""
        found = self._shape.match(header)
        return min(found.end(), HEADER_CHARS) if found else 0

    def _route(self, run: Run, header: str) -> None:
        for pattern, target in self._routes:
            if found := pattern.fullmatch(header):
                run.state.pending = ""
                run.state.origin = TEXT
                target(run, found)
                return
        self._give_up(run, header)

    def _give_up(self, run: Run, header: str) -> None:
        """Give the header back: it was a part of what it stood in."""
        state = run.state
        state.pending = ""
        state.mode = state.origin
        give_back(run, header, None)

    def end(self, run: Run) -> None:
        self._give_up(run, run.state.pending)


# The mode before reasoning in which the stream begins: the label after the opening that the prompt ends with.


class LabelMode:
    """At the first character of a region: a label, which is swallowed, or the region's text."""

    def __init__(self, label: Sequence[Marker], region: int) -> None:
        self._scanner = Scanner([(marker, True) for marker in label])
        self._region = region

    def quick(self, state: State) -> Quick | None:  # noqa: ARG002 -- other modes look at it
        return None

    def step(self, run: Run, buffer: str, position: int) -> int:
        hit = self._scanner.at(buffer, position, final=run.final)
        if hit is not None and hit.value is None:
            run.state.held = buffer[position:]
            return len(buffer)
        run.state.mode = self._region
        if hit is None:
            return position
        run.note("marker", buffer[position : hit.end])
        return hit.end

    def end(self, run: Run) -> None:
        pass
