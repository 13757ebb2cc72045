"""The mode behind a section: what a model writes of it once more means nothing there.

1. The section's close comes again; or all that stood in it does, exactly as it was, and then the close.
2. What turns out to be something else is text, from its first character on. No marker is lost with it: a body that
   comes again is compared up to its close, which is looked for as any marker is.
"""

import re

from tokenmill.parser.markers import Marker, Scanner
from tokenmill.parser.run.run import Run
from tokenmill.parser.run.state import State

BODY_CHARS = 16384
"""A longer body is not looked for again: it would have to be kept for that."""

_SPACE = re.compile(r"\s+")


def keep_body(state: State, source: str, opening: Marker) -> None:
    """A call of a section that may come again is complete: `source` is its own and the framing in front of it."""
    if not state.answered:
        state.body = ""
        source = next((source[len(text) :] for text in opening.spellings if source.startswith(text)), "").lstrip()
    whole = len(state.body) + len(source) <= BODY_CHARS and (state.body or not state.answered)
    state.body = state.body + source if whole else ""


def expect_again(state: State, mode: int, framing: str) -> None:
    """A section was closed behind calls and some `framing`; `mode` is that of what may come again, 0 if nothing may."""
    if mode and state.answered and not state.spoiled:
        state.mode = mode
        state.body = (state.body + framing).rstrip() if state.body else ""


def came_again(state: State) -> str:
    """What came again so far, with white space in front of it; nothing more is looked for."""
    source = state.pending + state.body[: state.repeated] if state.repeated else ""
    if source:
        state.pending = ""
    state.body, state.repeated = "", 0
    return source


class RepeatMode:
    """Behind one kind of section."""

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
        """It is no close: perhaps the body comes again."""
        state = run.state
        space = _SPACE.match(buffer, position)
        begin = space.end() if space else position
        if state.repeated or not state.body.startswith(buffer[begin : begin + 1] or " "):
            self._leave(run)
            return position
        state.pending = buffer[position:begin]
        return self._compare(run, buffer, begin)

    def _compare(self, run: Run, buffer: str, position: int) -> int:
        """Go on in the body as far as it is the same."""
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
        """It is something else: what of the body came again is text."""
        body = came_again(run.state)
        run.state.mode = run.state.origin
        run.put(body, reasoning=False)

    def end(self, run: Run) -> None:
        self._leave(run)
