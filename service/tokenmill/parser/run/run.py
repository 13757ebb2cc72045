"""One step of a parser: the state that it changes, and what comes out of it, as text, as reasoning or as calls.

1. `begin` decides what to do with a call's name; after that the call ends with exactly one `tool-call` or `error`.
2. A call's source is sent verbatim. Decoded text is sent for those string arguments that were asked for.
3. A failed call's source comes out as text, markers included, unless the options drop it; an incomplete call is never
   completed.

It also defines what a body is, whose reader uses these functions.
"""

from collections.abc import Sequence
from enum import Enum
from hashlib import blake2b
from typing import Any, Literal, Protocol, TypeAlias, cast

import msgspec
from msgspec import UNSET, UnsetType

from tokenmill.events import (
    AnyEvent,
    ArgumentDelta,
    Encoding,
    Error,
    ErrorCode,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from tokenmill.limits import RAW_CHARS
from tokenmill.parser.markers import Marker, plain_members
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.state import Growing, OpenCall, State

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


# The life of a call: begun when its name is known, grown while its source arrives, then complete or failed.


@plain_members
class Verdict(Enum):
    """What a body, or `begin`, decides about a call."""

    MORE = "the call continues"
    DONE = "its source is complete"
    FAILED = "it can't become a call"
    TEXT = "it is not a call but text"
    BLOCK = "it is not a call but opens a block of text"
    LIMIT = "there are too many calls"


def begin(
    run: Run,
    call: OpenCall,
    name: str,
    wire_id: str,
    encoding: Encoding,
    *,
    provider: bool = False,
    attributes: dict[str, Any] | UnsetType = UNSET,
) -> Verdict:
    """Accept the call, whose name is now known, or return what it is instead."""
    rules, state = run.rules, run.state
    call.name = name
    if not rules.knows(name):
        if rules.unknown_tool == "text" or (call.bare and not call.header):  # only the name shows that it is a call
            return Verdict.TEXT
        call.dropped = rules.unknown_tool == "drop"
    if state.calls >= rules.limits.calls:
        return Verdict.LIMIT
    if wire_id in state.wire_ids:  # the second use of an id would be another call's
        wire_id = ""
    if wire_id:
        state.wire_ids = (*state.wire_ids, wire_id)
    call.id = wire_id or rules.options.id_prefix + call_id(state.identity, state.calls)
    state.calls += 1
    call.begun = True
    if not call.dropped:
        run.close_block()
        if rules.streams_input:
            run.out.append(ToolInputStart(call.id, name, encoding, provider, attributes))
    return Verdict.MORE


def call_id(identity: str, index: int) -> str:
    """Return the id of a call that the model gave none: the same wherever and whenever the message is parsed."""
    return f"call_{blake2b(f'{identity}/{index}'.encode(errors='replace'), digest_size=12).hexdigest()}"


def send_source(run: Run, call: OpenCall, text: str) -> None:
    """Send more of the argument region's source."""
    if text and call.begun and not call.dropped and run.rules.streams_input:
        for piece in run.pieces(text):
            run.out.append(ToolInputDelta(call.id, piece))


def wants(run: Run, call: OpenCall, argument: str) -> bool:
    """Whether deltas of this argument are to be sent; a repeated argument is not sent twice."""
    return call.begun and not call.dropped and run.rules.wants(call.name, argument) and argument not in call.grown


def begin_growth(call: OpenCall, argument: str, text: bool | None) -> None:  # noqa: FBT001 -- what `is_text` returned
    """Begin to send an argument as it grows, if it is text; None: unless it is `null`."""
    if text is not False:
        call.growing = Growing(argument, undecided=text is None)


def grow(run: Run, call: OpenCall, argument: str, text: str) -> None:
    """Send more decoded text of one string argument."""
    growing = call.growing
    if growing is None:
        growing = call.growing = Growing(argument)
    growing.waiting += text
    if growing.undecided:
        if "null".startswith(growing.waiting.lower()):
            return
        growing.undecided = False
    call.grown[argument] = True
    if growing.waiting and len(growing.waiting) >= run.rules.options.min_delta_chars:
        _flush(run, call, growing)


def end_growth(run: Run, call: OpenCall, *, whole: bool = True) -> None:
    """End the argument that was growing, if any; where it is not `whole`, it could have become `null`."""
    growing, call.growing = call.growing, None
    if growing is None or (growing.undecided and (not whole or growing.waiting.lower() == "null")):
        return
    call.grown[growing.argument] = True
    _flush(run, call, growing)


def _flush(run: Run, call: OpenCall, growing: Growing) -> None:
    if growing.waiting:
        for piece in run.pieces(growing.waiting):
            run.out.append(ArgumentDelta(call.id, growing.argument, piece))
        growing.waiting = ""


def complete(
    run: Run, call: OpenCall, arguments: dict[str, Any], *, repaired: bool, mismatch: str | None = None
) -> None:
    """Complete the call: send its last deltas, its end, what is wrong with it, and the call itself.

    `mismatch` is why the arguments are not those that the model wrote, if that is known already.
    """
    run.state.complete += 1
    if run.rules.traced:
        run.note("call", call.source.text())
    if run.rules.drops_text_after_calls:
        run.close_block()  # more of an open block takes a short path that drops nothing
    if call.dropped:
        run.state.dropped += 1
        run.flush()
        raw = call.source.text()[:RAW_CHARS]
        run.out.append(Error("unknown-tool", f"no tool is named {call.name!r}", call.id, call.name, raw))
        return
    end_growth(run, call)
    for argument, value in arguments.items() if run.rules.watches_arguments else ():
        if isinstance(value, str) and wants(run, call, argument):
            grow(run, call, argument, value)
            end_growth(run, call)
    _end_input(run, call)
    if not run.rules.knows(call.name):
        run.out.append(Error("unknown-tool", f"no tool is named {call.name!r}", call.id, call.name))
        run.out.append(ToolCall(call.id, call.name, arguments, repaired, "unknown-tool"))
    elif mismatch := mismatch or run.rules.mismatch(call.name, arguments, 1 + call.source.size):  # a part has one
        run.out.append(Error("schema-mismatch", mismatch, call.id, call.name))
        run.out.append(ToolCall(call.id, call.name, arguments, repaired, "schema-mismatch"))
    else:
        run.out.append(ToolCall(call.id, call.name, arguments, repaired))
    if run.rules.options.text_mode == "placeholder":
        run.put(run.rules.options.placeholder_text, reasoning=False)


def fail(run: Run, call: OpenCall, code: ErrorCode, message: str) -> None:
    """Report that the call can't be completed; the caller decides what becomes of its source."""
    run.flush()
    if call.begun and not call.dropped:
        end_growth(run, call, whole=False)
        _end_input(run, call)
    raw = call.source.text()[:RAW_CHARS]
    if call.begun:
        run.out.append(Error(code, message, call.id, call.name, raw))
    elif call.name:
        run.out.append(Error(code, message, name=call.name, raw=raw))
    else:
        run.out.append(Error(code, message, raw=raw))


def _end_input(run: Run, call: OpenCall) -> None:
    if run.rules.streams_input:
        run.out.append(ToolInputEnd(call.id))


# What reads a call: a body is the grammar of its arguments, as data that compiles to a reader.


class Reader(Protocol):
    """A compiled body: reads one call's source. All state is in the call."""

    encoding: Encoding

    @property
    def state_type(self) -> type[msgspec.Struct]:
        """The type of what it keeps of an open call, in `OpenCall.body`: plain data, as snapshots hold it."""

    def begin(self, call: OpenCall) -> msgspec.Struct:
        """Return the state before the body's first character."""

    def quick(self, rules: Rules, parser: State, call: OpenCall, text: str) -> list[AnyEvent] | None:
        """Return the events of a chunk that is nothing but content; None if it must be read with care.

        If it returns events, what it did not read is put into the `held` of `parser`. The caller adds the rest to the
        source.
        """

    def step(self, run: Run, call: OpenCall, buffer: str, position: int) -> tuple[int, Verdict]:
        """Read on from `position`. Return the position read to, and what it means for the call.

        What is not read although the call continues is held back: it can still become a marker.
        """

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:
        """Return the arguments of a complete call and whether they were repaired. Raises `ValueError` with what is
        wrong.
        """


class Body(Protocol):
    """The data of a body; `stops` are markers that end it where it has no close of its own."""

    def compile(self, stops: Sequence[Marker]) -> Reader:
        """Return the reader of this body."""
