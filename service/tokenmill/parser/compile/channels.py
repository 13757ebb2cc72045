"""The channels of a format: the mode inside a header, and the modes to which headers lead.

1. A header is held until its end marker: only then is it clear what it was.
2. It is given up, as text, at the first character at which it no longer looks like a header; nothing is held longer.
3. The first pattern that fits the whole header decides where it leads. Without one it was text.
4. Layers that `parse` leaves out are still channels: reasoning and calls that are not parsed are text. So are their
   markers, unless the format declares those of reasoning as framing even then.
"""

import re
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import NamedTuple, TypeAlias

from tokenmill.events import AnyEvent
from tokenmill.limits import Limits
from tokenmill.parser.bodies import Body
from tokenmill.parser.markers import Marker, Scanner, plain_members
from tokenmill.parser.modes.call import HEADER_CHARS, CallMode, Headed
from tokenmill.parser.modes.section import SectionMode, closes_calls
from tokenmill.parser.modes.text import (
    DropMode,
    Live,
    Mode,
    Move,
    Quick,
    TextMode,
    To,
    give_back,
    open_call,
    open_section,
)
from tokenmill.parser.options import Options
from tokenmill.parser.run.rules import TEXT, Rules
from tokenmill.parser.run.run import Run
from tokenmill.parser.run.state import State
from tokenmill.parser.spec import BlockKind, Channels, Format, Section


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


# The modes of a format's channels: the header's, and one or two for each route.

WHOLE = 1 << 20
"""`Move.kept` of a marker that belongs to the mode it leads to, all of it."""


class CompiledChannels(NamedTuple):
    """The modes of one format's channels."""

    modes: list[Mode]
    """Modes by number, from the first free number."""
    outside: Live
    """Markers that are live outside every block."""
    header: int
    """Number of the mode in which a stream that starts in a header begins."""
    reasoning: int
    """Number of the mode of a stream that starts in the reasoning; `TEXT` if there is no reasoning."""
    reasons: frozenset[int]
    """Modes whose text is reasoning."""
    names: Sequence[str]
    """Readable name of each mode: `header`, `text_block`, `channel2`, `channel2_call0`, …"""


def compile_channels(options: Options, format_: Format, limits: Limits, first: int) -> CompiledChannels | None:
    """Return the modes of a format's channels, numbered from `first`; None if it has none or they are not parsed."""
    if format_.channels is None or options.parse == "none":
        return None
    return _Compiler(options, format_.channels, limits, first).compiled()


class _Compiler:
    def __init__(self, options: Options, channels: Channels, limits: Limits, first: int) -> None:
        self._options = options
        self._channels = channels
        self._limits = limits
        self._first = first
        self._modes: list[Mode] = []
        self._reasoning = TEXT
        self._reasons: set[int] = set()
        self._openings: Live = [(channels.open, Move(To.HEADER, first))]
        if channels.unopened:
            self._openings.append((channels.until, Move(To.HEADER, first, WHOLE)))
        alone: Live = [(channels.alone, Move(To.HEADER, first))] if channels.alone else []
        self._reopenings: Live = [*self._openings, *alone]

    def compiled(self) -> CompiledChannels:
        """Return all modes; the header's comes first, though it is made last."""
        routes, names = [], ["header"]
        for number, route in enumerate(self._channels.routes, 1):
            before = len(self._modes)
            routes.append((route.pattern, self._target(route.to)))
            names += route_names(number, route.to, len(self._modes) - before)
        header = HeaderMode(self._channels, routes)
        outside: Live = [*self._openings, (self._channels.close, Move(To.SWALLOWED))]
        return CompiledChannels(
            [header, *self._modes], outside, self._first, self._reasoning, frozenset(self._reasons), names
        )

    @property
    def _next(self) -> int:
        return self._first + 1 + len(self._modes)

    def _target(self, to: BlockKind | Section | Body) -> Target:
        if isinstance(to, str):
            return self._block(to)
        if self._options.parse == "reasoning" or self._options.tool_choice == "none":
            return self._verbatim()
        if isinstance(to, Section):
            return self._section(to)
        return self._call(to)

    def _block(self, kind: BlockKind) -> Target:
        number = self._next
        if kind == "reasoning":
            self._reasoning = self._reasoning or number
        is_reasoning = kind == "reasoning" and self._options.parse != "tools"
        if kind == "reasoning" and not is_reasoning and not self._channels.unparsed_framing:
            return self._verbatim()
        live: Live = [(self._channels.close, Move(To.REGION, TEXT))]
        live += self._reopenings if kind in self._channels.reopens else []
        live += [(self._channels.repeats, Move(To.SWALLOWED))] if kind == "text" and self._channels.repeats else []
        if kind == "drop":
            self._modes.append(DropMode(number, live, reasoning=False))
        else:
            self._modes.append(TextMode(number, live, reasoning=is_reasoning))
        if is_reasoning:
            self._reasons.add(number)
        return partial(to_block, number)

    def _verbatim(self) -> Target:
        number = self._next
        live: Live = [(self._channels.close, Move(To.VERBATIM)), *self._openings]
        self._modes.append(TextMode(number, live, reasoning=False))
        return partial(to_verbatim, number)

    def _stops(self) -> list[Marker]:
        return [marker for marker, _ in self._openings] + [self._channels.close]

    def _section(self, section: Section) -> Target:
        number = self._next
        calls = list(enumerate(section.calls, number + 1))
        live: Live = [(self._channels.close, Move(To.CLOSED))]
        framing = [(mark, Move(To.ENDED if closes_calls(mark) else To.FRAMING)) for mark in section.framing]
        live += [*((lead, Move(To.FRAMING)) for lead in section.leads), *framing]
        opened = [(call.open, Move(To.CALL, mode, 0 if call.header else 1)) for mode, call in calls]
        rest = [entry for entry in (*framing, *opened) if closes_calls(entry[0]) and not entry[1].kept]
        self._modes.append(SectionMode(number, [*live, *opened], rest=[*rest, *self._rest()]))
        stops = [*self._stops(), *(call.open for call in section.calls if call.header)]
        for call in section.calls:
            reader = call.body.compile(stops)
            headed = Headed(call.header) if call.header else None
            self._modes.append(CallMode(number, reader, headed, self._limits, bare="never", closed_by="section"))
        return partial(to_section, number)

    def _rest(self) -> Live:
        """Return what ends the source of a call that failed: the block's end, or the next header."""
        return [(self._channels.close, Move(To.CLOSED)), (self._channels.open, Move(To.BEYOND))]

    def _call(self, body: Body) -> Target:
        number = self._next
        mode = CallMode(number, body.compile(self._stops()), None, self._limits, bare="never", closed_by="section")
        self._modes += [SectionMode(number, [(self._channels.close, Move(To.CLOSED))], rest=self._rest()), mode]
        return partial(to_call, number + 1, mode)


def route_names(number: int, to: BlockKind | Section | Body, modes: int) -> list[str]:
    """Return the names of the `modes` modes of a channel's route."""
    if isinstance(to, str):
        return [f"{to}_block"] * modes
    if modes == 1:  # calls that are not parsed
        return ["text_block"]
    calls = [f"channel{number}_call{at}" for at in range(modes - 1)]
    return [f"channel{number}", *(calls if isinstance(to, Section) else [f"channel{number}"])]
