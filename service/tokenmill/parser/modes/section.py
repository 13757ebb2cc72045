"""The mode between the calls of a section: framing, text that belongs to nothing, and the rest of a failed call.

And the mode after a section, which may be repeated there.
"""

import re

from tokenmill.events import AnyEvent, Error, ErrorCode
from tokenmill.parser.markers import LEADING_SPACE, Marker, Scanner, has_only
from tokenmill.parser.modes.text import (
    FRAMING_CHARS,
    Live,
    Move,
    Quick,
    To,
    came_again,
    give_back,
    leave_section,
    open_call,
    open_section,
)
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.run import Run
from tokenmill.parser.run.state import Rest, State

LIST_SIGNS = "[](){},;`\n "
"""Signs around the calls of a list or in a code block, which also occur inside calls."""

_OBJECT = re.compile(rf"{LEADING_SPACE}\{{")


def closes_calls(framing: Marker) -> bool:
    """Whether this framing differs from what a call holds, so that it ends a call that can't be read."""
    return not has_only(framing, LIST_SIGNS)


class SectionMode:
    """Between the calls of a section: framing, until a call or the section's close.

    Anything else is text, and ends the section; or, if there are markers `again`, it is text up to the next of those,
    so that no call is lost with what stands before it. A call that failed extends to the next of `rest`, whatever
    stands there. Words after its close share its fate up to the next call, as that close may have been in a value; all
    others are not part of a call.
    """

    def __init__(
        self,
        number: int,
        live: Live,
        again: Live | None = None,
        *,
        rest: Live | None = None,
        bracket: str = "",
        bare: bool = False,
        quoted: Marker | None = None,
    ) -> None:
        self._number = number
        self._bare = bare
        """Whether its calls may stand outside it, if they name a declared tool; and so after its opening in prose."""
        self._bracket = bracket
        """What must stand before the first call."""
        self._quoted = quoted.spellings if quoted else ()
        """What opens it, and is found in prose as well."""
        self._scanner = Scanner(live, leading_space=True)
        self._begun = self._scanner.begun
        self._again = Scanner(again) if again else None
        self._rest = Scanner(rest or ())
        self._ended = rest is not None and any(move.to is To.ENDED for _, move in live)
        """Whether a marker of its own closes each call."""

    def quick(self, state: State) -> Quick | None:
        return None if (state.spoiled and self._again is not None) or state.rest is not None else self._framing

    def _framing(self, rules: Rules, state: State, text: str) -> list[AnyEvent] | None:  # noqa: ARG002 -- a `Quick`
        """Return no events, if all of it can still become what continues the section."""
        if not self._begun(text):
            return None
        state.hold(text, self._scanner.room)
        return []

    def step(self, run: Run, buffer: str, position: int) -> int:
        state = run.state
        if (rest := state.rest) is not None:
            if not rest.whole:
                again = self._again if rest.closed and self._again else self._rest
                return self._read_on(run, again, "malformed-call", buffer, position)
        elif state.spoiled and self._again is not None:
            return self._read_on(run, self._again, None, buffer, position)
        hit = self._scanner.at(buffer, position, final=run.final)
        if hit is None:
            return self._nothing(run, buffer, position)
        if hit.value is None:
            state.hold(buffer[position:], self._scanner.room)
            return len(buffer)
        return self._follow(run, hit.value, buffer[position : hit.end], hit.end)

    def _nothing(self, run: Run, buffer: str, position: int) -> int:
        """Handle text that is nothing of the section."""
        state = run.state
        if run.final and not buffer[position:].strip() and len(buffer) - position < FRAMING_CHARS:
            state.pending += buffer[position:]
            return len(buffer)
        if (rest := state.rest) is not None and not rest.closed:  # only the body had an end
            rest.whole = False
            pending, state.pending = state.pending, ""
            give_back(run, pending, "malformed-call")
            return position
        unended = self._ended and state.answered and not (state.spoiled or rest or state.pending.strip())
        if unended and _OBJECT.match(buffer, position):
            self._behind(run)
            return position
        leave_section(run, "malformed-call", "no call follows its opening")
        if self._again is not None:
            state.mode, state.spoiled = self._number, True  # `_read_on` from here
            state.rest = rest and Rest(rest.bare, whole=False, closed=True)
        return position

    def _behind(self, run: Run) -> None:
        """Handle another object where the end of a call should be: the call was sent already, and this is broken."""
        run.flush()
        run.out.append(Error("malformed-call", "an object stands behind the arguments of a call"))
        pending, run.state.pending = run.state.pending, ""
        give_back(run, pending, "malformed-call")
        run.state.rest = Rest(bare=False, whole=False)

    def _read_on(self, run: Run, again: Scanner[Move], code: ErrorCode | None, buffer: str, position: int) -> int:
        """Read on to the next of these markers. `code` is why what stands there is not a call; None if it is prose."""
        hit = again.find(buffer, position, final=run.final)
        stop = len(buffer) if hit is None else hit.start
        give_back(run, buffer[position:stop], code)
        if hit is None:
            return stop
        if hit.value is None:
            run.state.held = buffer[stop:]
            return len(buffer)
        if hit.value.to is To.FRAMING:
            run.state.spoiled = False  # another call begins, and what is wrong with it is its own
            run.end_rest()
        return self._follow(run, hit.value, buffer[stop : hit.end], hit.end)

    def _follow(self, run: Run, move: Move, source: str, end: int) -> int:
        state = run.state
        if move.to is To.CALL and (state.answered or state.spoiled or self._bracket in state.pending):
            in_prose = state.spoiled and not state.answered and state.rest is None
            run.end_rest()
            bare = in_prose and self._bare and bool(run.rules.tools)  # without a tool list any call may be meant
            open_call(state, move.mode, state.pending + source[: len(source) - move.kept], bare=bare)
            return end - move.kept
        if move.to is To.ENDED and state.rest is not None and not (state.rest.closed and state.pending):
            self._end_call(run, state.rest, source)
            return end
        if move.to in (To.FRAMING, To.ENDED) and len(state.pending) + len(source) <= FRAMING_CHARS:
            state.pending += source
            return end
        if move.to is To.CLOSED:
            self._close(run, move.mode, source)
            return end
        leave_section(run, "malformed-call", "no call follows its opening")
        if move.to is To.SECTION:
            open_section(state, move.mode, source)
            return end
        return end - len(source)

    def _close(self, run: Run, again: int, source: str) -> None:
        """Leave the section at its close. In a sentence a pair of tags around nothing is a part of it."""
        state = run.state
        inside, state.pending = state.pending, state.pending + source
        if inside in self._quoted and "\n" not in source and (state.block or state.waiting):
            pending, state.pending, state.mode = state.pending, "", state.origin
            give_back(run, pending, None)
        else:
            leave_section(run, "malformed-call")
            expect_again(state, again, inside)

    def _end_call(self, run: Run, rest: Rest, source: str) -> None:
        """Add to a failed call's source what closes it, and the framing before that."""
        run.state.pending += source
        if rest.bare:
            leave_section(run, "malformed-call")
            return
        pending, run.state.pending = run.state.pending, ""
        give_back(run, pending, "malformed-call")
        rest.whole = rest.closed = True  # what closes its section may still follow

    def end(self, run: Run) -> None:
        leave_section(run, "unfinished-call", "the stream ended where a call should follow")


# The mode after a section: what a model repeats of it means nothing there.
#
# 1. The section's close is repeated; or all that stood in it is, exactly as it was, and then the close.
# 2. What turns out to be something else is text, from its first character on. No marker is lost with it: a repeated
# body is compared up to its close, which is searched for like any marker.

BODY_CHARS = 16384
"""Characters of a body whose repetition is recognized: a longer one would have to be kept for that."""

_SPACE = re.compile(r"\s+")


def keep_body(state: State, source: str, opening: Marker) -> None:
    """Keep the call of a section that may be repeated: `source` is its own and the framing before it."""
    if not state.answered:
        state.body = ""
        source = next((source[len(text) :] for text in opening.spellings if source.startswith(text)), "").lstrip()
    whole = len(state.body) + len(source) <= BODY_CHARS and (state.body or not state.answered)
    state.body = state.body + source if whole else ""


def expect_again(state: State, mode: int, framing: str) -> None:
    """Expect a repetition after calls and some `framing`; `mode` is that of what may be repeated, 0 if nothing may."""
    if mode and state.answered and not state.spoiled:
        state.mode = mode
        state.body = (state.body + framing).rstrip() if state.body else ""


class RepeatMode:
    """After one kind of section."""

    def __init__(self, close: Marker) -> None:
        self._close = Scanner([(close, True)], leading_space=True)

    def quick(self, state: State) -> None:
        """Nothing is content here."""

    def step(self, run: Run, buffer: str, position: int) -> int:
        state = run.state
        if 0 < state.repeated < len(state.body):
            return self._compare(run, buffer, position)
        hit = self._close.at(buffer, position, final=run.final)
        if hit is None:
            return self._begin(run, buffer, position)
        if hit.value is None:
            state.held = buffer[position:]
            return len(buffer)
        run.note("marker", came_again(state) + buffer[position : hit.end])
        return hit.end

    def _begin(self, run: Run, buffer: str, position: int) -> int:
        """Begin after a text that is not a close: perhaps the body is repeated."""
        state = run.state
        space = _SPACE.match(buffer, position)
        begin = space.end() if space else position
        if state.repeated or not state.body.startswith(buffer[begin : begin + 1] or " "):
            self._leave(run)
            return position
        state.pending = buffer[position:begin]
        return self._compare(run, buffer, begin)

    def _compare(self, run: Run, buffer: str, position: int) -> int:
        """Continue in the body as far as it is the same."""
        state = run.state
        text = buffer[position : position + len(state.body) - state.repeated]
        if state.body.startswith(text, state.repeated):
            state.repeated += len(text)
            return position + len(text)
        same = next(at for at, sign in enumerate(text) if state.body[state.repeated + at] != sign)
        state.repeated += same
        self._leave(run)
        return position + same

    def _leave(self, run: Run) -> None:
        """Leave, as it is something else: what was repeated of the body is text."""
        body = came_again(run.state)
        run.state.mode = run.state.origin
        run.put(body, reasoning=False)

    def end(self, run: Run) -> None:
        self._leave(run)
