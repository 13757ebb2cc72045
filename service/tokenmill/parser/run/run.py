"""One step of a parser: the compiled grammar, the state it changes, and where events go."""

from typing import Literal, TypeAlias, cast

import msgspec
from msgspec import UNSET, UnsetType

from tokenmill.events import AnyEvent, ReasoningDelta, ReasoningEnd, ReasoningStart, TextDelta, TextEnd, TextStart
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.state import State

# The fate of each piece of the source: for `parse --explain`, and for the proof that no character is lost.

SpanKind: TypeAlias = Literal["marker", "call", "dropped", "coded"]
"""`coded` is the source of the text before it, where its spelling differs from its text."""


class Span(msgspec.Struct, frozen=True):
    """Source text that came out neither as text nor as reasoning."""

    kind: SpanKind
    source: str
    ahead: int = 0
    """Characters of text before it that still wait for a natural boundary: their events come later."""


# Text that is sent up to natural boundaries: the end of a line, the end of a sentence, or a number of characters.
#
# How much of a text is sent depends on the text alone, not on how it arrived. What arrives in one piece is sent in one
# piece, up to its last boundary.

_LINE = "\n"
_SENTENCE = ". "
"""A full stop alone does not end a sentence: numbers and file names contain some."""


def up_to_boundary(waiting: str, text: str, most: int) -> tuple[str, str]:
    """Return what may be sent of waiting text and the text after it, and what still waits: at most `most` characters.

    `waiting` is the second value of the last call.
    """
    buffer, most = waiting + text, max(1, most)
    new = max(0, len(waiting) - 1)  # the full stop may have come before
    line, sentence = buffer.rfind(_LINE, new), buffer.rfind(_SENTENCE, new)
    end = max(line + len(_LINE) if line >= 0 else 0, sentence + len(_SENTENCE) if sentence >= 0 else 0)
    end += max(0, len(buffer) - end - 1) // most * most
    return buffer[:end], buffer[end:]


class Run(msgspec.Struct, gc=False):  # faster to create than other objects
    """The context of one call of the parser; it lives no longer than that."""

    rules: Rules
    state: State
    out: list[AnyEvent] = []
    """Events; where the grammar is traced, with spans of source among them."""
    final: bool = False
    """Nothing follows the buffer: nothing is held back."""
    cut: bool = False
    """Whether the answer was cut off: the model did not finish it."""

    def put(self, text: str, *, reasoning: bool, call: str | UnsetType = UNSET) -> None:
        """Send `text` as visible text or as reasoning, opening and closing blocks as needed."""
        if not text:
            return
        state = self.state
        if state.complete and not reasoning and self.rules.drops_text_after_calls:
            self.note("dropped", text)
            return
        if state.waiting and (reasoning or call is not UNSET):
            self.flush()
        if self.rules.boundary_chars and not reasoning and call is UNSET:
            if state.block and state.reasoning:
                self.close_block()
            text, state.waiting = up_to_boundary(state.waiting, text, self.rules.boundary_chars)
        if text:
            self._send(text, reasoning=reasoning, call=call)

    def flush(self) -> None:
        """Send the text that waits for a natural boundary: something else follows."""
        text, self.state.waiting = self.state.waiting, ""
        if text:
            self._send(text, reasoning=False)

    def _send(self, text: str, *, reasoning: bool, call: str | UnsetType = UNSET) -> None:
        state = self.state
        if not state.block or state.reasoning != reasoning:
            self._end_block()
            state.block = f"{'r' if reasoning else 't'}{state.blocks}"
            state.blocks += 1
            state.reasoning = reasoning
            self.out.append(ReasoningStart(state.block) if reasoning else self._text_start(call))
        delta = ReasoningDelta if reasoning else TextDelta
        for piece in self.pieces(text):
            self.out.append(delta(state.block, piece))

    def _text_start(self, call: str | UnsetType) -> TextStart:
        return TextStart(self.state.block, call, UNSET if call is UNSET or not self.cut else True)

    def put_source(self, source: str, call: str) -> None:
        """Send the source of a failed call in a block of its own; if the state has its rest, more of it may follow.

        `call` is its id, empty if it had none yet.
        """
        self.close_block()
        self.put(source, reasoning=False, call=call)
        if self.state.rest is None:
            self.close_block()
        else:
            self.state.rest.call = call

    def end_rest(self) -> None:
        """End the failed call's source, if there was one: nothing of it follows."""
        rest, self.state.rest = self.state.rest, None
        if rest is not None and rest.call is not None:
            self.close_block()

    def close_block(self) -> None:
        """End the open block, if any, or the block that waiting text belongs to."""
        self.flush()
        self._end_block()

    def _end_block(self) -> None:
        state = self.state
        if state.block:
            self.out.append(ReasoningEnd(state.block) if state.reasoning else TextEnd(state.block))
            state.block = ""

    def pieces(self, text: str) -> list[str]:
        """Return `text` in deltas of at most `delta_chars` characters."""
        most = self.rules.limits.delta_chars
        return [text] if len(text) <= most else [text[at : at + most] for at in range(0, len(text), most)]

    def note(self, kind: SpanKind, source: str) -> None:
        """Record what became of source text that is not sent, if the grammar is traced. This changes no event."""
        if self.rules.traced and source:
            self.out.append(cast("AnyEvent", Span(kind, source, len(self.state.waiting))))
