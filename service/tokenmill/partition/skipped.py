"""Messages with records that nobody processed, because the group's offset was set past them by hand.

    done .......... until .....
    processed       committed by something other than a worker; live from here on

The state at `until` is that of the whole log, as always, so messages without records in between continue. A choice that
made events in between is lost: nobody got them, and a reader of the others could not notice that some are missing.
`done` is not written anywhere, but it can be found: the last published event came from one record, and a replay finds
that record when it makes that event.
"""

from typing import NamedTuple, TypeAlias

import msgspec

from tokenmill.partition.message import NEVER, Choice, Ended, Open
from tokenmill.partition.messages import Messages
from tokenmill.records import Record

Span: TypeAlias = tuple[int, int]
"""Pair of offsets: from, inclusive, and until, exclusive."""


class Published(NamedTuple):
    """The last event that readers have of a partition."""

    timestamp: int
    """Milliseconds since the epoch, the same as its record's."""
    key: bytes
    message_id: str
    choice: int
    seq: int
    since: int
    """Offset that its record is not below."""


class Move(msgspec.Struct, frozen=True):
    """What is known about an offset that was not committed by a worker; with neither field, nothing."""

    published: Published | None = None
    done: int | None = None
    """Offset below which all records were processed before, and from which none was."""


class Moved(msgspec.Struct, frozen=True):
    """The result of a move."""

    direction: str = "unknown"
    """One of `observe.MOVES`."""
    skipped: Span = (0, 0)
    """Span of skipped records; empty if none were skipped."""
    events: int = 0
    """Number of events that no reader gets."""
    lost: tuple[Choice, ...] = ()
    """Choices that readers take for open, and that have to be announced as lost."""


class Noted:
    """The choices open at the start of a span, and how many events each had made."""

    def __init__(self, span: Span, messages: Messages, unsent: int) -> None:
        self.span = span
        self.unsent = unsent
        self._seqs = {choice: choice.seq for _, choice in messages.in_state(Open)}

    def lose(self, messages: Messages) -> tuple[Choice, ...]:
        """End the span and lose the choices that made events in it. Returns these and those that ended in it."""
        lost = [choice for choice, seq in self._seqs.items() if isinstance(choice.state, Ended) and choice.seq > seq]
        for message, choice in messages.in_state(Open):
            if choice.seq > self._seqs.get(choice, 0):
                messages.lose(message, choice, announced=True)
                lost.append(choice)
        return tuple(sorted(lost, key=lambda choice: (choice.first, choice.index)))


class Skips:
    """Follows a replay: loses messages that commits record as skipped, and finds out what a move skips."""

    def __init__(self, messages: Messages, spans: tuple[Span, ...], start: int, until: int, move: Move | None) -> None:
        """The replay goes from `start` to `until`; `spans` are those of its mark."""
        self._messages = messages
        self._ahead = sorted(span for span in spans if start < span[1])
        self._open: list[Noted] = []
        self._start, self._until = start, until
        self._move = move
        self._new: Noted | None = None
        self._last = move.published if move is not None else None
        self._next = start
        if move is not None and (move.done is None or move.done <= start):
            self._new = Noted((start, until), messages, 0)
        if self._last is not None and self._made(self._last):
            self._last = None

    def before(self, offset: int, unsent: int) -> None:
        """Note that the record at `offset` comes next, after `unsent` events."""
        if offset < self._next:
            return
        for noted in [each for each in self._open if each.span[1] <= offset]:
            self._open.remove(noted)
            noted.lose(self._messages)
        while self._ahead and self._ahead[0][0] <= offset:
            self._open.append(Noted(self._ahead.pop(0), self._messages, unsent))
        move = self._move
        if move is not None and move.done is not None and self._start < move.done <= offset and self._new is None:
            self._new = Noted((move.done, self._until), self._messages, unsent)
        done = [move.done] if move is not None and move.done is not None and self._new is None else []
        borders = [*(each.span[1] for each in self._open), *(span[0] for span in self._ahead[:1]), *done]
        self._next = min(borders, default=NEVER)

    def after(self, record: Record, unsent: int) -> None:
        """Note that the record was applied, after `unsent` events in all."""
        last = self._last
        if last is None or record.timestamp != last.timestamp or record.key != last.key or record.offset < last.since:
            return
        if self._made(last):
            self._last = None
            self._new = Noted((record.offset + 1, self._until), self._messages, unsent)

    def end(self, unsent: int) -> Moved | None:
        """End the replay; returns the result of the move, if there was one."""
        self.before(self._until, unsent)
        move, new = self._move, self._new
        if move is None:
            return None
        if move.published is None and move.done is None:
            return Moved()
        if new is None or self._is_ahead():
            return Moved("back")
        events = unsent - new.unsent
        lost = new.lose(self._messages)
        return Moved("forward", new.span, events, lost) if events else Moved("none")

    def _made(self, last: Published) -> bool:
        """Whether that event was made already."""
        choice = self._choice(last)
        return choice is not None and choice.seq > last.seq

    def _choice(self, last: Published) -> Choice | None:
        message = self._messages.get((last.key, last.message_id))
        return message.choice(last.choice) if message is not None else None

    def _is_ahead(self) -> bool:
        """Whether the last published event is of a record that the replay did not reach."""
        last = self._last
        if last is None:
            return False
        return last.since >= self._start or self._choice(last) is not None
