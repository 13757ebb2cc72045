"""The content of a tool's tag with one long argument: only that is passed on, unchanged.

1. An argument is `<arg name="KEY">…</arg>` or `<KEY>…</KEY>`. All but those of the tool are skipped, up to the closing
   tag. Of several long arguments the first counts, of several paths the last.
2. The long argument may have guards around its text, as `__START_CONTENT__` and `__END_CONTENT__`. White space before
   the first and one new line after it are layout. The last counts only before the argument's end, so the text may
   mention it.
3. Where the last guard is missing, the argument ends before the end of the arguments or of the call; white space at the
   text's end is layout then. Without guards it ends at the first closing, and nothing is layout.
"""

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

import msgspec

from tokenmill.events import AnyEvent, ArgumentDelta, Encoding, ToolInputDelta
from tokenmill.parser.bodies.params import LAYOUTS
from tokenmill.parser.markers import LEADING_SPACE, Marker, Scanner, literal, marker, plain_members
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.run import Run, Verdict, end_growth, grow, send_source, wants
from tokenmill.parser.run.state import OpenCall, State
from tokenmill.parser.values.markup import unescaped
from tokenmill.systems.autobyteus.tagged import TAG_CHARS, ContentReader, TagState, content_of, long_argument

_Step = Callable[[Run, OpenCall, TagState, str, int, int], tuple[int, bool]]
"""Reads on in one phase. Returns the position read to, and whether another phase continues from there."""

PATH = "path"
_LAYOUT = LAYOUTS["strip"]


@plain_members
class Phase(IntEnum):
    """What is read."""

    BETWEEN = 0
    """Neither argument."""
    PATH = 1
    LEAD = 2
    """The beginning of the long argument, where its first guard may stand."""
    TEXT = 3
    GUARDED = 4
    """Its text after the first guard."""
    OVER = 5
    """The call's closing stands here."""
    BROKEN = 6
    """The path is too long to be one."""


@plain_members
class PipedToken(IntEnum):
    """What a marker means."""

    END = 0
    """The call ends."""
    PATH = 1
    LONG = 2
    """The long argument begins."""
    CLOSE = 3
    """An argument ends."""
    LAST = 4
    """A guarded text ends without its last guard."""


class _Style(NamedTuple):
    """One of the spellings of an argument: its closing."""

    opening: str
    closing: str


_STYLES = (_Style('<arg name="{}">', "</arg>"), _Style("<arg name='{}'>", "</arg>"), _Style("<{}>", "</{}>"))


class Piped(msgspec.Struct, frozen=True):
    """One long argument, and a path if the tool has one."""

    close: Marker
    """Ends the call."""
    argument: str
    """Name of the long argument."""
    path: bool = False
    """Whether there is an argument `path`, too."""
    guards: tuple[str, str] | None = None
    """What may surround its text."""

    def compile(self) -> ContentReader:
        """Return the reader of this content."""
        return _PipedReader(self)


class _PipedReader:
    encoding: Encoding = "xml"

    def __init__(self, piped: Piped) -> None:
        self._argument = piped.argument
        self._path = piped.path
        names = [(PATH, PipedToken.PATH)] * piped.path + [(piped.argument, PipedToken.LONG)]
        openings = [
            (marker(style.opening.format(name), spaces=True, any_case=True), (edge, at))
            for name, edge in names
            for at, style in enumerate(_STYLES)
        ]
        self._between = Scanner([*openings, (piped.close, (PipedToken.END, 0))])
        first, last = piped.guards or ("", "")
        self._lead = Scanner([(marker(first, f"{first}\n", f"{first}\r\n"), True)] if first else [], leading_space=True)
        self._closed = {
            name: [Scanner([(_closing(style, name), PipedToken.CLOSE)]) for style in _STYLES] for name, _ in names
        }
        self._phases: Mapping[int, _Step] = {
            Phase.BETWEEN: self._seek,
            Phase.PATH: self._read_path,
            Phase.LEAD: self._read_lead,
            Phase.TEXT: self._read_text,
            Phase.GUARDED: self._read_text,
        }
        self._last = [Scanner(_guarded_ends(style, piped.argument, last)) for style in _STYLES] if last else []

    def begin(self, run: Run, call: OpenCall, state: TagState, offset: int) -> None:
        """Begin without knowing anything yet."""

    def quick(self, rules: Rules, parser: State, call: OpenCall, state: TagState, text: str) -> list[AnyEvent] | None:
        if state.phase not in (Phase.TEXT, Phase.GUARDED) or (state.growing and rules.options.min_delta_chars):
            return None
        guarded = state.phase == Phase.GUARDED
        ends = (self._last if guarded else self._closed[self._argument])[state.style]
        settled = ends.settled(text)
        if settled < 0 or (guarded and state.growing and text[:settled][-1:].isspace()):
            return None
        text, parser.held = text[:settled], text[settled:]
        sends = text and rules.streams_input and not call.dropped
        events: list[AnyEvent] = []
        if state.growing and text:
            events.append(ArgumentDelta(call.id, self._argument, text))
        if sends:
            events.append(ToolInputDelta(call.id, text))
        return events

    def step(
        self, run: Run, call: OpenCall, state: TagState, buffer: str, position: int, base: int
    ) -> tuple[int, Verdict]:
        first, goes_on = position, True
        while goes_on:
            position, goes_on = self._phases[state.phase](run, call, state, buffer, position, base)
        send_source(run, call, buffer[first:position])
        if state.phase != Phase.OVER:
            return position, Verdict.FAILED if state.phase == Phase.BROKEN else Verdict.MORE
        closing = self._between.at(buffer, position, final=True)
        assert closing is not None  # it was found there
        return closing.end, Verdict.DONE

    # The following methods read one phase each.

    def _seek(
        self, run: Run, call: OpenCall, state: TagState, buffer: str, position: int, _base: int
    ) -> tuple[int, bool]:
        hit = self._between.find(buffer, position, final=run.final)
        if hit is None or hit.value is None:
            return len(buffer) if hit is None else hit.start, False
        edge, style = hit.value
        if edge is PipedToken.END:
            state.phase = Phase.OVER
            return hit.start, False
        if edge is PipedToken.PATH:
            state.phase, state.style, state.path = Phase.PATH, style, ""
        elif state.begin < 0:
            state.phase, state.style = Phase.LEAD, style
            state.growing = wants(run, call, self._argument)
        return hit.end, True

    def _read_path(
        self, run: Run, call: OpenCall, state: TagState, buffer: str, position: int, _base: int
    ) -> tuple[int, bool]:
        hit = self._closed[PATH][state.style].find(buffer, position, final=run.final)
        stop = len(buffer) if hit is None else hit.start
        room = TAG_CHARS - len(state.path)
        if stop - position > room:
            state.phase = Phase.BROKEN
            return position + room, False
        state.path += buffer[position:stop]
        if hit is None or hit.value is None:
            return stop, False
        state.phase, state.path = Phase.BETWEEN, unescaped(state.path.strip())
        if wants(run, call, PATH):
            grow(run, call, PATH, state.path)
            end_growth(run, call)
        return hit.end, True

    def _read_lead(
        self, run: Run, _call: OpenCall, state: TagState, buffer: str, position: int, base: int
    ) -> tuple[int, bool]:
        guard = self._lead.at(buffer, position, final=run.final)
        if (guard is None and position == len(buffer)) or (guard is not None and guard.value is None):
            return position, False
        begin = guard.end if guard else position
        state.phase, state.begin = Phase.GUARDED if guard else Phase.TEXT, base + begin
        return begin, True

    def _read_text(
        self, run: Run, call: OpenCall, state: TagState, buffer: str, position: int, base: int
    ) -> tuple[int, bool]:
        guarded = state.phase == Phase.GUARDED
        hit = (self._last if guarded else self._closed[self._argument])[state.style].find(
            buffer, position, final=run.final
        )
        text = buffer[position : len(buffer) if hit is None else hit.start]
        stop = position + len(text)
        closed = hit is not None and hit.value is not None
        if state.growing:
            if guarded and (hit is None or hit.value is not PipedToken.CLOSE) and (closed or not run.final):
                text = _LAYOUT.certain(text)  # what it leaves off is or may be layout
            grow(run, call, self._argument, text)
        if hit is None or hit.value is None:
            return position + len(text), False
        end_growth(run, call)
        state.phase, state.growing, state.end = Phase.BETWEEN, False, base + stop
        state.trims = hit.value is PipedToken.LAST
        return hit.end, True

    def arguments(self, run: Run, call: OpenCall, state: TagState) -> tuple[dict[str, Any], bool]:  # noqa: ARG002 -- needs no tools
        content = content_of(call, state)
        text = _LAYOUT.certain(content) if state.trims else content
        return long_argument(self._argument, text, state.path if self._path else None), False


def _closing(style: _Style, name: str) -> Marker:
    return marker(style.closing.format(name), spaces=True, any_case=True)


def _guarded_ends(style: _Style, name: str, guard: str) -> list[tuple[Marker, PipedToken]]:
    """Return what ends a guarded text: the last guard before the argument's closing, or that before a larger
    closing.
    """
    closing = style.closing.format(name)
    behind = [(LEADING_SPACE, *literal(tag, any_case=True)) for tag in (closing, "</arguments>", "</tool>")]
    return [
        (marker(guard, ahead=behind[:1]), PipedToken.CLOSE),
        (marker(closing, any_case=True, ahead=behind[1:]), PipedToken.LAST),
    ]
