"""Which characters of the source made an event.

What a traced parser puts out covers its source without a gap: text and reasoning as they stand, all else as spans. So
the places of its outputs follow from their lengths. Rules of this file:

1. Text and reasoning are where their characters are. Text that waits for a natural boundary is told behind spans that
   follow it in the source; a span says how much waits (`Span.ahead`).
2. A call and its end have all of its source, as an `error` has that quotes it. What is told while the call is open has
   what the parser has read of the call since the step before.
3. What stands for no characters, such as the end of a block, has an empty range where it was told.
"""

from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from tokenmill.events import (
    AnyEvent,
    ArgumentDelta,
    Error,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from tokenmill.parser.run.run import Span
from tokenmill.parser.values.repair import decode_string

_GROWING = (ToolInputStart, ToolInputDelta, ArgumentDelta)
_ENDS = (ToolCall, ToolInputEnd)


class Made(msgspec.Struct):
    """An event, and the characters `[start, end)` of the source that made it."""

    event: AnyEvent
    start: int
    end: int
    payloads: Sequence[str] = ()
    """What a dialect makes of it."""


class Ranges:
    """Follows the outputs of one traced parser."""

    def __init__(self) -> None:
        self._told = 0
        """Characters of text and reasoning that came out."""
        self._spans = [(0, 0)]
        """Characters told in front of a span, and by how much what follows is further on in the source."""
        self._coded = (0, 0, 0)
        """How far text goes that stands otherwise in the source, and from where to where that is."""
        self._call: tuple[int, int] | None = None
        """The source that was complete last, for the events of its end."""
        self._waiting = list[Made]()
        """Events of an end whose source is told behind them."""
        self._quoted = ""
        """What the last of them, an error, quotes of it."""

    @property
    def here(self) -> int:
        """Characters of the source that came out."""
        return self._at(self._told)

    def take(self, outputs: Sequence[AnyEvent | Span], before: int, read: int) -> list[Made]:
        """The events of one step. Of the source it had read `before`, and has `read` now, without what it holds."""
        made = list[Made]()
        for output in outputs:
            if isinstance(output, Span):
                self._pass(output, made)
            elif isinstance(output, TextDelta | ReasoningDelta):
                made.append(self._text(output))
            else:
                made.append(self._event(output, before, read))
        return made

    def _text(self, event: TextDelta | ReasoningDelta) -> Made:
        told, (coded, *there) = self._told, self._coded
        self._told += len(event.delta)
        start, end = there if told < coded else (self._at(told), self._at(self._told - 1) + 1)
        made = Made(event, start, end)
        if self._quoted and (event.delta.startswith(self._quoted) or self._quoted.startswith(event.delta)):
            self._settle(made.start, made.end)
        self._quoted = ""
        return made

    def _event(self, event: AnyEvent, before: int, read: int) -> Made:
        here = self._at(self._told)
        made = Made(event, here, here)
        if isinstance(event, _GROWING):
            made.start, made.end, self._call = max(here, before), max(here, read), None
        elif isinstance(event, _ENDS) and self._call is not None:
            made.start, made.end = self._call
        elif isinstance(event, _ENDS) or (isinstance(event, Error) and isinstance(event.raw, str)):
            self._waiting.append(made)
            self._quoted = event.raw if isinstance(event, Error) and isinstance(event.raw, str) else ""
        return made

    def _pass(self, span: Span, made: Sequence[Made]) -> None:
        """Source that came out neither as text nor as reasoning."""
        at, further = self._told + span.ahead, self._spans[-1][1]
        start = at + further
        if span.kind == "coded":  # it stands for the text in front of it
            further += len(span.source) - len(decode_string(span.source))
            self._coded = (at, at + further - len(span.source), at + further)
            text = next((each for each in reversed(made) if isinstance(each.event, TextDelta | ReasoningDelta)), None)
            if text is not None:
                text.end = at + further
        else:
            further += len(span.source)
        self._spans.append((at, further))
        if span.kind == "call":
            end = start + len(span.source)
            self._call = (start, end)
            for each in made:  # of this step: no more was read of the call than there is of it
                if isinstance(each.event, _GROWING) and start <= each.start <= end:
                    each.end = min(each.end, end)
        if span.kind == "call" or (span.kind == "dropped" and self._quoted):
            self._settle(start, start + len(span.source))

    def _settle(self, start: int, end: int) -> None:
        """The source of what waits is told."""
        for made in self._waiting:
            made.start, made.end = start, end
        self._waiting.clear()
        self._quoted = ""

    def _at(self, told: int) -> int:
        """Where the character of this number among those that are told is in the source."""
        return told + self._spans[bisect_right(self._spans, told, key=lambda span: span[0]) - 1][1]
