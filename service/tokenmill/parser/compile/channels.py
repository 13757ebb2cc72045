"""Compiles the channels of a format to modes: its header, and a mode or two for each route.

Layers that `parse` leaves out are still channels: reasoning and calls that are not parsed are text. So are their
markers, unless the format declares those of reasoning as framing even then.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from tokenmill.limits import Limits
from tokenmill.parser.bodies import Body
from tokenmill.parser.markers import Marker
from tokenmill.parser.modes.call import CallMode, Headed
from tokenmill.parser.modes.header import HeaderMode, Target, to_block, to_call, to_section, to_verbatim
from tokenmill.parser.modes.section import SectionMode, closes_calls
from tokenmill.parser.modes.text import DropMode, Live, Mode, Move, TextMode, To
from tokenmill.parser.options import Options
from tokenmill.parser.run.rules import TEXT
from tokenmill.parser.spec import BlockKind, Channels, Format, Section

# The readable names of a grammar's modes: the states in the formats' diagrams.
#
# `text`, `unparsed`, `reasoning0`, `section0`, `section0_call1`, `header`, `text_block`, `channel2`, …; where several
# formats live at once, each name has its format's name as prefix: `think.reasoning0`.


def prefixes(formats: Sequence[Format]) -> dict[str, str]:
    """Return the prefix of each format's mode names."""
    return {format_.name: f"{format_.name}." if len(formats) > 1 else "" for format_ in formats}


def section_names(name: str, section: Section, *, again: bool) -> Iterator[str]:
    """Yield the names of a section's modes, in the order of their numbers; `again`: it may be repeated after its
    end.
    """
    yield name
    yield from (f"{name}_call{number}" for number in range(len(section.calls)))
    if section.block:
        yield f"{name}_text"
    if again:
        yield f"{name}_again"


def route_names(number: int, to: BlockKind | Section | Body, modes: int) -> list[str]:
    """Return the names of the `modes` modes of a channel's route."""
    if isinstance(to, str):
        return [f"{to}_block"] * modes
    if modes == 1:  # calls that are not parsed
        return ["text_block"]
    calls = [f"channel{number}_call{at}" for at in range(modes - 1)]
    return [f"channel{number}", *(calls if isinstance(to, Section) else [f"channel{number}"])]


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
