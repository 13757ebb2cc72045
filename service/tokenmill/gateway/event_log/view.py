"""One conversation in one dialect: its records in, frames out. The frames depend only on the records, not on the reader
or the time.

1. A record is shown once: what a worker published again, at a later offset, is recognized by its message, attempt and
   `tm-seq`. An attempt is identified by `tm-opened`, as a message's id may be used again. Its numbers are contiguous:
   a hole means that events are gone (`jumped`).
2. A dialect's state begins with a message's first event. A record of a message that began before the first record read
   sets `missing`: its reader goes back to that time. If the log no longer has it, the message is given up: clients get
   a notice of the gap, and the frames that can be rendered without the beginning.
   The first event of an unknown message that began before the newest known one does so, too: a worker may publish it
   again from far back. If nothing earlier is found, the clocks of producers differ, and it is shown.
3. A frame is the last one (`last`) when no message of the conversation is open after it. If a dialect has no words for
   the end of a message, the frame has no payload: it moves the client's place, and marks the end.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from tokenmill.dialects import Dialect, Renderer
from tokenmill.dialects.native import NATIVE
from tokenmill.errors import NOT_JSON
from tokenmill.events import decode_event
from tokenmill.gateway.event_log.entry import Entry
from tokenmill.gateway.event_log.position import Position

ENDED_KEPT = 64
"""Ended messages of a conversation that are remembered to recognize repeats: a repeat reaches back by one commit of one
partition, in which a conversation rarely has more than one answer."""

ATTEMPTS_KEPT = 8
"""Earlier uses of a message's id whose repeats are known; one is rare."""

GIVEN_UP_KEPT = 64
"""Messages without their beginnings that are remembered. An open one is known anyway; for one that comes again later,
the beginning is looked for again."""

_PIECES = b'{"type":"text-delta"', b'{"type":"reasoning-delta"'

Who = tuple[bytes, bytes]
"""A message and its choice."""

Attempt = tuple[bytes, bytes, int]
"""A message, its choice, and the time at which it began."""

_any_json = msgspec.json.Decoder(msgspec.Raw)


class Frame(NamedTuple):
    """The payload that clients are sent for a record, or one of several."""

    offset: int
    part: int
    back: int
    """See `Position`."""
    payload: bytes
    message: bytes
    first: bool = False
    """Whether it is the first that is shown of its message and choice."""
    last: bool = False
    """Whether no message is open after it."""
    ends: bool = False
    """Whether its message is over: no choice of it is open after it."""
    mark: int = 0
    """See `Position`."""

    @property
    def place(self) -> tuple[int, int]:
        """The sort key of a partition's frames."""
        return self.offset, self.part

    def id(self, partition: int) -> Position:
        """Its id: the place after it."""
        return Position(partition, self.offset, self.part, self.back, self.mark)


class _Known(msgspec.Struct):
    """The state of one choice, as far as its records were read."""

    opened: int
    seq: int
    since: int
    """Offset of its first record."""
    over: bool = False
    shown: bool = False
    notice: bytes = b""
    """Its last event without a number: a worker lost its state."""
    adopted: bool = False
    """Whether its beginning was not read."""
    before: tuple[int, ...] = ()
    """Times at which earlier messages with this id began."""
    piece: bytes = b""
    """The text that the last record passed by was a piece of."""


class View:
    """Takes the records of a conversation in order, and makes frames of a dialect of them."""

    __slots__ = (
        "_given_up",
        "_known",
        "_missing",
        "_newest",
        "_open",
        "_renderer",
        "_skips",
        "jumped",
        "misses",
        "partition",
        "repeated",
    )

    def __init__(self, dialect: Dialect, partition: int, given_up: Iterable[Attempt] = ()) -> None:
        self.partition = partition
        self._renderer = None if dialect is NATIVE else Renderer(dialect)
        self._skips = dialect.ignores_pieces
        self._known: OrderedDict[Who, _Known] = OrderedDict()
        self._open: dict[Who, _Known] = {}
        self._newest = -1
        """When the newest message began."""
        self._missing: Attempt | None = None
        self.misses = b""
        """Which message lacks its beginning; empty if none does, as where a record may only repeat a beginning."""
        self._given_up = tuple(given_up)
        self.jumped = False
        """Whether events are missing before the record that was taken last."""
        self.repeated = False
        """Whether the record that was taken last had come before, or its message's beginning is missing."""

    @property
    def missing(self) -> int | None:
        """Start of the message whose beginning was not read, in milliseconds since the epoch; None if there is none.

        The last record, and those that follow, have to be taken by a view that has read the beginning or given it up.
        """
        return None if self._missing is None else self._missing[2]

    def give_up(self) -> None:
        """Continue without the missing beginning, which is gone from the log. The record has to be taken once more."""
        if self._missing is not None:
            self._given_up = (*self._given_up, self._missing)[-GIVEN_UP_KEPT:]
            self._missing, self.misses = None, b""

    @property
    def given_up(self) -> tuple[Attempt, ...]:
        """Messages whose beginnings are gone from the log, the latest ones."""
        return self._given_up

    @property
    def whole(self) -> bool:
        """Whether the beginning of every open message was read."""
        return not any(known.adopted for known in self._open.values())

    def knows_more_than(self, other: "View") -> bool:
        """Whether it remembers messages that another view, which has read up to the same place, does not know."""
        return not self._known.keys() <= other._known.keys()  # noqa: SLF001 -- of another one of the same kind

    @property
    def idle(self) -> bool:
        """Whether no message is open."""
        return not self._open

    def open_since(self) -> dict[bytes, int]:
        """Return the open messages, and the offset of each one's first record."""
        return {who[0]: known.since for who, known in reversed(self._open.items())}

    def ended(self) -> frozenset[bytes]:
        """Return the remembered messages of which every choice that began is over."""
        return self.messages() - self.open_since().keys()

    def knows(self, message: bytes) -> bool:
        """Whether anything of a message was read."""
        return any(message == name for name, _ in self._known)

    def messages(self) -> frozenset[bytes]:
        """Return all messages that are remembered."""
        return frozenset(message for message, _ in self._known)

    def take(self, entry: Entry) -> Sequence[Frame]:
        """Return the frames of a record; none for a repeat, or one whose message's beginning is `missing`."""
        self.jumped = False
        known = self._place(entry)
        self.repeated = known is None
        if known is None:
            return ()
        payloads = self._payloads(entry, known) or ((b"",) if entry.finishes else ())
        since = min(each.since for each in self._open.values())  # of this message, or of an older one
        if entry.finishes:
            self._end(entry, known)
        first, known.shown = not known.shown, known.shown or bool(payloads)
        count, last = len(payloads), entry.finishes and not self._open
        ends = entry.finishes and all(message != entry.message for message, _ in self._open)
        back, mark = entry.offset - since, entry.mark
        return [
            Frame(
                entry.offset,
                part,
                back,
                payload,
                entry.message,
                first=first and part == 1,
                last=last and part == count,
                ends=ends and part == count,
                mark=mark,
            )
            for part, payload in enumerate(payloads, 1)
        ]

    def pass_by(self, entry: Entry) -> None:
        """Take a record without making its frames: a client that comes back waits for everything that lies before."""
        known = self._known.get((entry.message, entry.choice))
        if known is not None and entry.seq == known.seq + 1 and entry.opened == known.opened and not known.over:
            known.seq = entry.seq  # like nearly all: the next one of an open message
        else:
            known = self._place(entry)
        if known is None:
            return
        piece = _piece_of(entry.value) if self._skips else b""
        if not known.shown or (self._renderer is not None and not (piece and piece == known.piece)):
            known.shown |= bool(self._payloads(entry, known)) or entry.finishes
            known.piece = piece
        if entry.finishes:
            self._end(entry, known)

    def _place(self, entry: Entry) -> _Known | None:
        """Return the state of the record's choice, with the record; None if the record is not to be shown."""
        who = entry.message, entry.choice
        known = self._known.get(who)
        if entry.seq < 0:
            return self._of_lost(who, known, entry)
        if known is None:
            return self._new(who, entry, ())
        if entry.opened in known.before or (entry.opened == known.opened and entry.seq <= known.seq):
            return None
        if known.over or entry.opened != known.opened:
            return self._new(who, entry, (*known.before, known.opened)[-ATTEMPTS_KEPT:])
        self.jumped = entry.seq > known.seq + 1
        known.seq = entry.seq
        return known

    def _new(self, who: Who, entry: Entry, before: tuple[int, ...]) -> _Known | None:
        may_lack = not entry.starts or entry.opened < self._newest
        if may_lack and (attempt := (*who, entry.opened)) not in self._given_up:
            self._missing, self.misses = attempt, b"" if entry.starts else entry.message
            return None
        before = tuple(opened for opened in before if opened != entry.opened)
        known = _Known(entry.opened, entry.seq, entry.offset, adopted=not entry.starts, before=before)
        return self._remember(who, known)

    def _remember(self, who: Who, known: _Known) -> _Known:
        self._known[who] = self._open[who] = known
        self._newest = max(self._newest, known.opened)
        self._known.move_to_end(who)
        if len(self._known) > ENDED_KEPT + len(self._open):
            self._known.pop(next(name for name, each in self._known.items() if each.over))
        return known

    def _of_lost(self, who: Who, known: _Known | None, entry: Entry) -> _Known | None:
        """Take a notice without a number: the error and the end of a message whose state is gone, each shown once."""
        if known is None:
            return self._remember(who, _Known(entry.opened, entry.seq, entry.offset, notice=entry.value))
        if known.over or known.notice == entry.value:
            return None
        known.notice = entry.value
        return known

    def _payloads(self, entry: Entry, known: _Known) -> Sequence[bytes]:
        try:
            if self._renderer is None:
                _any_json.decode(entry.value)  # raises for what would not be one line
                _ = entry.value.isascii() or entry.value.decode()  # no frame of a WebSocket may hold other bytes
                return (entry.value,)
            if known.adopted and not known.notice:
                return ()  # without its beginning a dialect can't render it
            return self._renderer.render(decode_event(entry.value))
        except NOT_JSON:
            return ()  # an event that this version does not have, or not JSON

    def _end(self, entry: Entry, known: _Known) -> None:
        known.over = True
        self._open.pop((entry.message, entry.choice), None)


def _piece_of(value: bytes) -> bytes:
    """Return the text that an event is a piece of: everything in it before the piece; empty for other events."""
    return value[: value.find(b'"delta"')] if value.startswith(_PIECES) else b""
