"""The parser of one message and choice: text in, events out. Its whole state can be encoded after every call."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from msgspec import UNSET, UnsetType

from tokenmill.errors import NOT_JSON, SnapshotError
from tokenmill.events import AnyEvent, Error, Finish, Part
from tokenmill.finish_reasons import CUT_OFF_REASONS, finish_reason
from tokenmill.limits import RAW_CHARS
from tokenmill.parser.compile.grammar import Grammar
from tokenmill.parser.modes.native import end_native, quick_delta, read_delta
from tokenmill.parser.modes.text import UNPARSED, Mode, Quick, TextMode, limit
from tokenmill.parser.run.run import Run
from tokenmill.parser.run.state import WIDE, State, decode_state, encode_state
from tokenmill.usage import counted

UPSTREAM_CHARS = 1024
"""Characters quoted of a provider's own error and raw reason, and of the text at which a model stopped."""


class MessageParser:
    """Parses one message. Nothing here raises on what a model writes."""

    __slots__ = ("chars", "grammar", "quick", "state")

    grammar: Grammar
    state: State
    chars: int
    """Characters read so far. The count in the state is updated only when the state is encoded, which is cheaper."""
    quick: Quick | None
    """What reads the next chunks, as long as they are only content: chosen where the state changes."""

    @classmethod
    def of(cls, grammar: Grammar, identity: str) -> Self:
        """Return a parser at the start of a message; `identity` is the text from which ids of calls are derived."""
        parser = cls.__new__(cls)
        parser.grammar, parser.state, parser.chars, parser.quick = grammar, State(identity, grammar.start), 0, None
        return parser

    @classmethod
    def of_state(cls, grammar: Grammar, data: bytes) -> Self:
        """Return the parser that `encode_state` encoded. Raises `SnapshotError`."""
        parser = cls.__new__(cls)
        try:
            parser.state = decode_state(data, grammar.body_type)
        except NOT_JSON as problem:
            raise SnapshotError(f"a parser's state can't be read: {problem}") from problem
        parser.grammar, parser.chars, parser.quick = grammar, parser.state.chars, None
        return parser

    def encode_state(self) -> bytes:
        """Return the whole state of the parser, without its grammar."""
        self.state.chars = self.chars
        return encode_state(self.state)

    @property
    def memory(self) -> int:
        """About how many bytes are held: what grows with the message while a call is open."""
        state = self.state
        if state.call is None and not state.native:
            return len(state.held) + len(state.pending) + len(state.body)
        held = sum(len(text) * (1 if text.isascii() else WIDE) for text in (state.held, state.pending, state.body))
        return held + sum(call.source.memory for call in state.open_calls())

    def start(self) -> list[AnyEvent]:
        """Return `message-start`, once; the other methods send it first if it was not asked for."""
        if self.state.started:
            return []
        self.state.started = True
        return [self.grammar.message_start]

    def feed(self, text: str) -> list[AnyEvent]:
        """Return the events of more model text."""
        quick = self.quick
        if quick is not None and text:
            grammar, state, size = self.grammar, self.state, len(text)
            chars, held = self.chars + size, state.held
            if chars <= grammar.message_chars:
                if held:
                    if size <= state.room and text.isspace():
                        state.held, state.room, self.chars = held + text, state.room - size, chars
                        return []
                    state.held, state.room, size = "", 0, size + len(held)
                events = quick(grammar, state, held + text) if size <= grammar.quick_chars else None
                if events is not None:
                    self.chars = chars
                    return events
                state.held = held
        return self._feed(text)

    def _feed(self, text: str) -> list[AnyEvent]:
        """Read on with care: markers may begin and end in the text and change the meaning of the rest."""
        grammar, state = self.grammar, self.state
        if state.finished:
            return []
        run = Run(grammar, state)
        if not state.started:
            run.out = self.start()
        if text and not self.chars:
            text = grammar.prompt + text
        room = grammar.message_chars - self.chars
        self.chars += len(text)
        if len(text) <= room:
            _read(run, grammar.modes, text)
        else:
            _read_to(run, grammar.modes, text, max(0, room))
        self.quick = grammar.modes[state.mode].quick(state) if self.chars else None
        return run.out

    def reasoning(self, text: str) -> list[AnyEvent]:
        """Return the events of reasoning that the provider separated itself.

        Before any text it ends the reasoning that the prompt opened: the provider has removed what closes that.
        """
        grammar, state = self.grammar, self.state
        if text and not self.chars:
            self.chars = len(grammar.prompt)  # which counts as read
            if grammar.is_reasoning(state.mode):
                state.mode = grammar.behind(state.mode)
        run = self._beside()
        run.put(text, reasoning=True)
        return self._events(run)

    def tool_calls(self, deltas: Sequence[Mapping[str, Any]]) -> list[AnyEvent]:
        """Return the events of OpenAI tool-call deltas."""
        if len(deltas) == 1 and (events := quick_delta(self.grammar, self.state, deltas[0])) is not None:
            return events
        run = self._beside()
        for delta in deltas:
            read_delta(run, delta)
        return self._events(run)

    def part(self, kind: str, value: Any, id: str | UnsetType = UNSET) -> list[AnyEvent]:  # noqa: A002 # the field's name
        """Return the events of other provider content, in its place."""
        run = self._beside()
        run.flush()
        run.out.append(Part(kind, value, id))
        return self._events(run)

    def fail(self, message: str, status: int | UnsetType = UNSET, raw: str | UnsetType = UNSET) -> list[AnyEvent]:
        """Return the events of a failed provider: an `error` `upstream`, with the status and the body of its answer."""
        run = self._beside()
        run.flush()
        shown = UNSET if isinstance(raw, UnsetType) else raw[:RAW_CHARS]
        run.out.append(Error("upstream", message[:UPSTREAM_CHARS], raw=shown, status=status))
        return self._events(run)

    def finish(
        self, reason: str | None = "stop", usage: Mapping[str, Any] | None = None, stop_sequence: str | None = None
    ) -> list[AnyEvent]:
        """End the message: what was held comes out, then `finish`. `reason` is the provider's word or a native one.

        `stop_sequence` is the text at which the model stopped, if it was told to stop there.
        """
        state = self.state
        if state.finished:
            return []
        run = Run(self.grammar, state, cut=finish_reason(reason, called=False) in CUT_OFF_REASONS)
        _settle(run, self.grammar.modes)
        self.grammar.modes[state.mode].end(run)
        end_native(run)
        run.close_block()
        native = finish_reason(reason, called=state.complete > state.dropped)
        raw = reason[:UPSTREAM_CHARS] if reason and reason != native else UNSET
        given, counts = (UNSET, UNSET) if usage is None else (dict(usage), counted(usage))
        stop = stop_sequence[:UPSTREAM_CHARS] if stop_sequence and native not in CUT_OFF_REASONS else UNSET
        run.out.append(Finish(native, raw, given, counts, stop_sequence=stop))
        events = self._events(run)
        state.finished, self.quick = True, None
        return events

    def _beside(self) -> Run:
        """Return a run for content beside the model's text: text that waits to become a marker does not become one."""
        self.quick = None
        run = Run(self.grammar, self.state)
        if self.state.held and isinstance(self.grammar.modes[self.state.mode], TextMode):
            _settle(run, self.grammar.modes)
        return run

    def _events(self, run: Run) -> list[AnyEvent]:
        return [] if self.state.finished else self.start() + run.out


def _read(run: Run, modes: Sequence[Mode], text: str) -> None:
    """Run the machine over what was held and `text`."""
    state = run.state
    buffer = state.held + text
    if state.held:
        state.held, state.room = "", 0
    position, size = 0, len(buffer)
    while position < size:
        position = modes[state.mode].step(run, buffer, position)


def _read_to(run: Run, modes: Sequence[Mode], text: str, room: int) -> None:
    """Read text that is longer than the message may be: what exceeds the limit is not parsed."""
    _read(run, modes, text[:room])
    run.cut = True  # more follows, so the buffer's end completes no call
    _settle(run, modes)
    run.cut = False
    if run.state.mode != UNPARSED:
        limit(run, f"the message is longer than {run.rules.message_chars} characters")
    _read(run, modes, text[room:])


def _settle(run: Run, modes: Sequence[Mode]) -> None:
    """End what is held: nothing follows it."""
    run.final = True
    _read(run, modes, "")
    run.final = False
