"""A parser that tells what each call did: the piece that it was given, what came of it, and where it is then.

It is the parser itself, so its events are those of a worker.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from tokenmill.events import AnyEvent, TextDelta
from tokenmill.inspector.ranges import Made, Ranges
from tokenmill.limits import MIB
from tokenmill.parser import MessageParser
from tokenmill.parser.run.run import Span
from tokenmill.parser.values.repair import single_halves

Kind: TypeAlias = Literal["text", "reasoning", "tool_calls", "part", "error", "finish", "record", "alone"]
"""What a piece brought; `record` is one whose events come of something else, `alone` one whose event comes of nothing
that was read."""


HELD_CHARS = 4 * MIB
"""Of text that waits, in all steps of a message together: each step says it again, and of a text that waits as a whole
a thousandth would be more than the text. What is longer is told by its length."""

LENGTH_CHARS = 64
"""What is no longer than this is shown: its length would not be shorter by much."""


class Step(msgspec.Struct):
    """One piece, and what it did."""

    kind: Kind
    start: int
    end: int
    source: str
    """What it brought: `[start, end)` of all that came, in characters."""
    made: list[Made]
    held: str
    """Text that can still become a marker; its length in words where there was too much of it, see `HELD_CHARS`."""
    pending: str
    """Framing that waits for the next call, likewise."""
    mode: str
    """What the parser is in, as the format's diagram calls it."""
    bytes: int
    """What it would take to save it."""


Note: TypeAlias = Callable[[Step], None]


class WatchedParser(MessageParser):
    """A parser of a traced grammar, and who is told of its steps."""

    __slots__ = ("_aside", "_note", "_ranges", "_read", "_room")

    _note: Note
    _ranges: Ranges
    _read: int
    """Characters of text that it was given."""
    _aside: int
    """Characters of the source that are none of its text."""
    _room: int
    """Characters of text that waits which may still be shown."""

    def watch(self, note: Note) -> Self:
        """Tell of its steps from now on, which is the start of a message."""
        self._note, self._ranges, self._read, self._aside, self._room = note, Ranges(), 0, 0, HELD_CHARS
        return self

    @property
    def here(self) -> int:
        """How many characters of the source were read."""
        return self._read + self._aside

    def feed(self, text: str) -> list[AnyEvent]:
        """The events of more model text."""
        text = single_halves(text)
        before = self._read - len(self.state.held)
        events = super().feed(text)
        new = (self.grammar.prompt if not self._read else "") + text
        start = self.here
        self._read += len(new)
        self._tell("text", start, new, self._placed(events, before))
        return events

    def reasoning(self, text: str) -> list[AnyEvent]:
        """The events of reasoning that the provider separated itself."""
        text = single_halves(text)
        return self._tell_beside("reasoning", text, super().reasoning(text))

    def tool_calls(self, deltas: Sequence[Mapping[str, Any]]) -> list[AnyEvent]:
        """The events of OpenAI tool-call deltas."""
        return self._tell_beside("tool_calls", msgspec.json.encode(deltas).decode(), super().tool_calls(deltas))

    def part(self, kind: str, value: Any, id: str | UnsetType = UNSET) -> list[AnyEvent]:  # noqa: A002 # the field's name
        """Take other provider content."""
        return self._tell_beside("part", msgspec.json.encode(value).decode(), super().part(kind, value, id))

    def fail(self, message: str, status: int | UnsetType = UNSET, raw: str | UnsetType = UNSET) -> list[AnyEvent]:
        """Take the failure of the provider."""
        return self._tell_beside("error", message, super().fail(message, status, raw))

    def finish(
        self, reason: str | None = "stop", usage: Mapping[str, Any] | None = None, stop_sequence: str | None = None
    ) -> list[AnyEvent]:
        """Take the end."""
        before = self._read - len(self.state.held)
        events = super().finish(reason, usage, stop_sequence)
        self._tell("finish", self.here, "", self._placed(events, before))
        return events

    def idle_step(self, kind: Kind, made: list[Made]) -> Step:
        """A step that brings nothing, of events that none of the parser's calls made."""
        return self._step(kind, self.here, "", made)

    def _tell_beside(self, kind: Kind, said: str, events: list[AnyEvent]) -> list[AnyEvent]:
        """Of what is no text of the model's: its events have all of it, but for text of the model's that came before.

        Spans of the rest say where in the provider's deltas calls are, and nothing of the model's text.
        """
        start, made = self.here, list[Made]()
        end = start + len(said)
        for event in events:
            if isinstance(event, TextDelta | Span) and self._ranges.here < self._read - len(self.state.held):
                made += self._placed([event], self._read)
            elif not isinstance(event, Span):
                made.append(Made(event, start, end))
        self._aside += len(said)
        self._tell(kind, start, said, made)
        return events

    def _placed(self, events: Sequence[AnyEvent], before: int) -> list[Made]:
        """Events of the model's text, of which so much was read before, where they are in the source."""
        made = self._ranges.take(events, before, self._read - len(self.state.held))
        for each in made:
            each.start, each.end = each.start + self._aside, each.end + self._aside
        return made

    def _tell(self, kind: Kind, start: int, source: str, made: list[Made]) -> None:
        self._note(self._step(kind, start, source, made))

    def _step(self, kind: Kind, start: int, source: str, made: list[Made]) -> Step:
        state, mode = self.state, self.grammar.mode_names[self.state.mode]
        size = len(self.encode_state())
        held, pending = self._shown(state.held), self._shown(state.pending)
        return Step(kind, start, start + len(source), source, made, held, pending, mode, size)

    def _shown(self, waiting: str) -> str:
        """Text that waits, as far as there is room for it."""
        if LENGTH_CHARS < len(waiting) > self._room:
            return f"({len(waiting)} characters, too many to be shown at each step)"
        self._room -= len(waiting)
        return waiting
