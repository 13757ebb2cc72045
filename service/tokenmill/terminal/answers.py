"""A conversation's answers as they grow: events folded into what a screen shows, within bounds.

Rules of this file:

1. What is kept does not grow with the conversation: the ends of texts, the newest answers and blocks.
2. No clock is read: times are those of the events, which say how the model wrote, also when an answer is read later.
3. Texts are kept as they came. Whoever shows them makes them harmless (`visible`).
"""

from collections import deque
from collections.abc import Iterator
from typing import Literal, TypeAlias, TypeVar

import msgspec

from tokenmill import events
from tokenmill.terminal.readable import compact, sentence

ANSWERS = 8
"""Answers that are kept: more than fit on a screen; choices of one message count separately."""

BLOCKS = 64
"""Blocks kept of an answer: each takes at least a line, and few terminals have as many."""

TEXT_CHARS = 8_000
"""Characters kept from the end of a text: enough for a large terminal. With the two above a conversation takes at most
4 MiB, or four times as much if characters are wide."""

CARD_CHARS = 2_000
"""Characters kept from the end of a call's arguments while they grow: about twenty lines, which leave room for text."""

WORDS_CHARS = 300
"""Characters kept of what takes a line or two: names, problems, values that are not text."""

Kind: TypeAlias = Literal["text", "reasoning", "source"]

State: TypeAlias = Literal["growing", "read", "complete", "repaired", "failed"]


class Ending:
    """The end of a growing text, and its whole length."""

    def __init__(self, most: int, text: str = "") -> None:
        self._most = most
        self.text = ""
        self.chars = 0
        self.add(text)

    def add(self, more: str) -> None:
        """Append to the text."""
        self.chars += len(more)
        self.text = (self.text + more)[-self._most :]

    @property
    def cut(self) -> bool:
        """Whether the beginning is no longer kept."""
        return self.chars > len(self.text)


class Words(msgspec.Struct):
    """Text, reasoning, or the source of a failed call, which comes out as text."""

    kind: Kind
    ending: Ending


class Card(msgspec.Struct):
    """A call: its arguments as the model writes them, then as they were read."""

    name: str
    source: Ending
    state: State = "growing"
    problem: str = ""
    """Description for people, if the call failed."""
    arguments: str | None = None
    """Arguments, one per line; None until the call is complete."""


class Line(msgspec.Struct):
    """Anything else: label, style, text."""

    label: str
    style: str
    said: str


Block: TypeAlias = Words | Card | Line

Begun = TypeVar("Begun", Words, Card, Line)


class Pace:
    """How fast an answer came, by the times of its events in milliseconds."""

    def __init__(self) -> None:
        self.events = 0
        self.deltas = 0
        self.longest_gap_ms = 0
        self._first: int | None = None
        self.last: int | None = None

    def add(self, at_ms: int, *, delta: bool) -> None:
        """Count one event."""
        self.events += 1
        self.deltas += delta
        if self._first is None or self.last is None:
            self._first = self.last = at_ms
        self.longest_gap_ms = max(self.longest_gap_ms, at_ms - self.last)
        self.last = max(self.last, at_ms)  # producers' clocks may go back

    @property
    def deltas_per_s(self) -> float | None:
        """Return the average; None until some time has passed."""
        span_ms = (self.last or 0) - (self._first or 0)
        return self.deltas * 1000 / span_ms if span_ms > 0 else None


class Answer:
    """One choice of a message."""

    def __init__(self, message_id: str, choice: int) -> None:
        self.message_id = message_id
        self.choice = choice
        self.opened = ""
        """Format and model; empty if the beginning was not seen."""
        self.pace = Pace()
        self.gone = 0
        """Number of blocks that are no longer kept."""
        self.finish: Line | None = None
        self._blocks: deque[tuple[str, Block]] = deque()
        """Blocks and their ids, in the order of their beginnings."""

    @property
    def blocks(self) -> Iterator[Block]:
        """Yield the blocks, the newest first."""
        return (block for _, block in reversed(self._blocks))

    def add(self, event: events.AnyEvent, at_ms: int) -> None:
        """Add one event."""
        deltas = events.TextDelta, events.ReasoningDelta, events.ToolInputDelta
        self.pace.add(at_ms, delta=isinstance(event, deltas))
        match event:
            case events.MessageStart():
                self.opened = f"{sentence(event)[2]} {event.model}"[:WORDS_CHARS]
            case events.TextStart(call=str()):
                self._words(event.id, "source")
            case events.TextDelta():
                self._words(event.id, "text").ending.add(event.delta)
            case events.ReasoningDelta():
                self._words(event.id, "reasoning").ending.add(event.delta)
            case events.ToolInputStart() | events.ToolInputDelta() | events.ToolInputEnd() | events.ToolCall():
                self._of_a_call(event)
            case events.Error(id=str(id_), name=name):
                self._failed(self._card(id_, name or ""), f"{event.code}: {event.message}")
            case events.Finish():
                self.finish = _line(event)
            case events.Error() | events.Part() | events.ToolProgress() | events.ToolResult():
                self._begin("", _line(event))

    def _of_a_call(
        self, event: events.ToolInputStart | events.ToolInputDelta | events.ToolInputEnd | events.ToolCall
    ) -> None:
        match event:
            case events.ToolInputStart():
                self._card(event.id, event.name)
            case events.ToolInputDelta():
                self._card(event.id).source.add(event.delta)
            case events.ToolInputEnd():
                self._card(event.id).state = "read"
            case events.ToolCall():
                card = self._card(event.id, event.name)
                card.arguments = _lines(event)
                if event.problem:
                    self._failed(card, card.problem or event.problem)
                else:
                    card.state = "repaired" if event.repaired else "complete"

    def _failed(self, card: Card, problem: str) -> None:
        card.state, card.problem = "failed", problem[:WORDS_CHARS]

    def _words(self, id_: str, kind: Kind) -> Words:
        found = self._find(id_)
        return found if isinstance(found, Words) else self._begin(id_, Words(kind, Ending(TEXT_CHARS)))

    def _card(self, id_: str, name: str = "") -> Card:
        found = self._find(id_)
        return found if isinstance(found, Card) else self._begin(id_, Card(name[:WORDS_CHARS], Ending(CARD_CHARS)))

    def _find(self, id_: str) -> Block | None:
        return next((block for known, block in reversed(self._blocks) if known == id_), None)

    def _begin(self, id_: str, block: Begun) -> Begun:
        self._blocks.append((id_, block))
        if len(self._blocks) > BLOCKS:
            self._blocks.popleft()
            self.gone += 1
        return block


class Conversation:
    """The latest answers."""

    def __init__(self) -> None:
        self.events = 0
        self.gone = 0
        """Number of answers that are no longer kept."""
        self.latest: Answer | None = None
        """The answer with the latest event."""
        self._answers: dict[tuple[str, int], Answer] = {}

    @property
    def answers(self) -> Iterator[Answer]:
        """Yield the answers, the one opened last first."""
        return reversed(self._answers.values())

    def add(self, event: events.AnyEvent, at_ms: int) -> None:
        """Add one event; `at_ms` is the time of its record, for events without their own."""
        key = (event.message_id, event.choice)
        if isinstance(event, events.MessageStart):  # the id may have been used before
            self._answers.pop(key, None)
        answer = self._answers.get(key) or self._open(key)
        answer.add(event, event.time if isinstance(event.time, int) else at_ms)
        self.events += 1
        self.latest = answer

    def _open(self, key: tuple[str, int]) -> Answer:
        if len(self._answers) == ANSWERS:
            finished = (known for known, answer in self._answers.items() if answer.finish)
            del self._answers[next(finished, next(iter(self._answers)))]
            self.gone += 1
        answer = self._answers[key] = Answer(*key)
        return answer


def _line(event: events.AnyEvent) -> Line:
    label, style, said = sentence(event)
    return Line(label, style, said[:WORDS_CHARS])


def _lines(call: events.ToolCall) -> str:
    """Return the arguments, one per line. Long values are cut, so that the others are seen, too."""
    pieces = [f"{name} = {compact(value)[:CARD_CHARS]}" for name, value in call.arguments.items()]
    return "\n".join(pieces)[:CARD_CHARS]
