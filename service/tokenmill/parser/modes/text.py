"""The modes of the machine: what a stretch of the stream is, and which markers lead out of it.

1. A mode is compiled once and keeps no state; all state is in `State`.
2. `step` reads on from a position and always either reads something or changes the mode.
3. `quick` is chosen for all chunks that follow, as long as nothing changes: nearly all are nothing but content.
4. `end` decides what becomes of the mode when the stream ends in it.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple, Protocol, TypeAlias

from tokenmill.events import AnyEvent, Error, ErrorCode, ReasoningDelta, TextDelta
from tokenmill.limits import KIB, RAW_CHARS
from tokenmill.parser.markers import Marker, Scanner, plain_members
from tokenmill.parser.run.rules import TEXT, Rules
from tokenmill.parser.run.run import Run, fail
from tokenmill.parser.run.state import OpenCall, Source, State

UNPARSED = 1
"""Number of the mode in which all is text: after a limit."""

FRAMING_CHARS = 4 * KIB
"""Characters of brackets, commas and white space of a section before a call: more is not framing."""


@plain_members
class To(Enum):
    """What a marker leads to."""

    REGION = "a region of text begins or ends"
    SWALLOWED = "the marker means nothing here"
    SECTION = "a section begins"
    CALL = "a call begins"
    FRAMING = "a bracket or comma between calls"
    ENDED = "what closes a call that failed"
    CLOSED = "the section ends"
    BEYOND = "the section ends before the marker"
    VERBATIM = "a marker that is text, followed by text or reasoning"
    HEADER = "a channel's header begins"


class Move(NamedTuple):
    """A marker's meaning: what it leads to, and the number of the mode where that is."""

    to: To
    mode: int = TEXT
    kept: int = 0
    """Characters at the end of the marker that belong to what it leads to, at most the whole marker."""
    bare: bool = True
    """Whether only a call's content shows that it is one."""


Live: TypeAlias = list[tuple[Marker, Move]]
"""The markers that lead out of a mode, and what each means."""

Quick: TypeAlias = Callable[[Rules, State, str], list[AnyEvent] | None]
"""Returns the events of a chunk that is nothing but content; None if it must be read with care.

What was held stands before the chunk, and `held` is empty. A function that returns events may hold again. Both together
fit one delta.
"""


class Mode(Protocol):
    """One mode."""

    def quick(self, state: State) -> Quick | None:
        """Return what reads chunks of content in this state; None if each must be read with care."""

    def step(self, run: Run, buffer: str, position: int) -> int:
        """Read on from `position`. Return the position read to. What must wait is put into `held`."""

    def end(self, run: Run) -> None:
        """End the stream in this mode."""


class TextMode:
    """Visible text or reasoning."""

    def __init__(self, number: int, live: Live, *, reasoning: bool, block: bool = True) -> None:
        self._number = number
        self._block = block  # with an end of its own, not what surrounds such blocks
        self._reasoning = reasoning
        self._scanner = Scanner(live)
        self._first = self._scanner.first
        self._doubt = self._scanner.doubt
        self._begun = self._scanner.begun
        self._delta = ReasoningDelta if reasoning else TextDelta
        # Made once, as every open message keeps one of them.
        self._in_block: Quick = self._content
        self._outside: Quick = self._beginning

    def quick(self, state: State) -> Quick | None:
        return self._in_block if state.block and state.reasoning is self._reasoning else self._outside

    def _content(self, rules: Rules, state: State, text: str) -> list[AnyEvent] | None:  # noqa: ARG002 -- a `Quick`
        """Send more of the open block, up to what can become a marker."""
        if self._first in text and (doubt := self._doubt(text)):
            settled = doubt.start()
            if not self._begun(text, settled):
                return None
            state.hold(text[settled:], self._scanner.room)
            return [self._delta(state.block, text[:settled])] if settled else []
        return [self._delta(state.block, text)]

    def _beginning(self, rules: Rules, state: State, text: str) -> list[AnyEvent] | None:  # noqa: ARG002 -- a `Quick`
        """Return no events, if all of it can still become a marker, whatever is open."""
        if not self._begun(text):
            return None
        state.hold(text, self._scanner.room)
        return []

    def step(self, run: Run, buffer: str, position: int) -> int:
        hit = self._scanner.find(buffer, position, final=run.final)
        stop = len(buffer) if hit is None else hit.start
        self._put(run, buffer[position:stop])
        if hit is None:
            return stop
        if hit.value is None:
            run.state.hold(buffer[stop:], self._scanner.room)
            return len(buffer)
        end = max(stop, hit.end - hit.value.kept)
        self._follow(run, hit.value, buffer[stop:end])
        return end

    def _put(self, run: Run, text: str) -> None:
        run.put(text, reasoning=self._reasoning)

    def _follow(self, run: Run, move: Move, source: str) -> None:
        state = run.state
        if move.to is To.SECTION:
            state.origin = self._number
            open_section(state, move.mode, source)
        elif move.to is To.HEADER:
            state.origin = self._number
            state.mode, state.pending = move.mode, source
        elif move.to is To.CALL:
            state.origin = self._number
            open_call(state, move.mode, source, bare=move.bare)
        elif move.to is To.VERBATIM:
            state.mode = move.mode
            run.put(source, reasoning=False)
        else:
            run.note("marker", source)
            if move.to is To.REGION:
                if self._block and state.reasoning is self._reasoning:
                    run.close_block()
                state.mode = move.mode

    def end(self, run: Run) -> None:
        pass


class DropMode(TextMode):
    """Text that is addressed to nobody."""

    def quick(self, state: State) -> Quick | None:  # noqa: ARG002 -- other modes look at it
        return None

    def _put(self, run: Run, text: str) -> None:
        run.note("dropped", text)


class LabelMode:
    """At the first character of a region in which the stream begins: a label, which is swallowed, or the region's text.

    The opening before it is the end of the prompt.
    """

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


def open_section(state: State, mode: int, source: str) -> None:
    """Open a section: its opening waits for the first call."""
    state.mode, state.pending = mode, source
    state.answered = state.spoiled = False


def open_call(state: State, mode: int, source: str, *, bare: bool) -> None:
    """Open a call; `source` is all of it so far, including framing before it."""
    state.call = OpenCall(Source(), mode, bare=bare)
    state.call.source.add(source)
    state.pending, state.mode = "", mode


def leave_section(run: Run, code: ErrorCode, message: str = "") -> None:
    """Leave the section: what is pending is framing after its last call, or text that belongs to nothing.

    `message` is what is wrong with a section without a call; empty if nothing is: an empty section is framing.
    """
    state = run.state
    pending, state.pending, state.mode = state.pending, "", state.origin
    if message and not state.answered and not state.spoiled:
        run.flush()
        run.out.append(Error(code, message, raw=pending[:RAW_CHARS]))
        # A call was meant, but not even its beginning is in the stream.
        give_back(run, pending, code, OpenCall(Source()) if code == "unfinished-call" else None)
    elif state.spoiled:
        give_back(run, pending, code)
    else:
        run.note("marker", pending)
    run.end_rest()


def came_again(state: State) -> str:
    """Return what was repeated so far, with white space before it; nothing more is compared."""
    source = state.pending + state.body[: state.repeated] if state.repeated else ""
    if source:
        state.pending = ""
    state.body, state.repeated = "", 0
    return source


def give_back(run: Run, source: str, code: ErrorCode | None, call: OpenCall | None = None) -> None:
    """Send source that did not become a call as what it stood in, unless the options drop it.

    `code` is why; None if it never was a call. A `call` that was begun has ended the reasoning around it; the text of a
    failed call is a block of its own.
    """
    options, state = run.rules.options, run.state
    if call is not None and call.begun:
        state.origin = run.rules.behind(state.origin)
    policy = options.on_unfinished if code == "unfinished-call" else options.on_broken
    if code is not None and code != "limit" and policy == "drop":
        run.note("dropped", source)
        return
    reasoning = run.rules.is_reasoning(state.origin)
    if call is None and state.rest is not None and state.rest.call is not None:
        run.put(source, reasoning=False, call=state.rest.call)
    elif call is None or code is None or reasoning:
        run.put(source, reasoning=reasoning)
    else:
        run.put_source(source, call.id)


def limit(run: Run, message: str) -> None:
    """Handle a cap of the message: parsing stops here, the rest is text."""
    state = run.state
    run.end_rest()
    call, state.call = state.call, None
    pending = came_again(state) or state.pending
    state.origin, state.pending = TEXT, ""
    if call is None:
        run.flush()
        run.out.append(Error("limit", message))
        give_back(run, pending, "limit")
    else:
        fail(run, call, "limit", message)
        give_back(run, call.source.text(), "limit", call)
    state.mode = UNPARSED
