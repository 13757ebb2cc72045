"""Messages and streams that no longer get records, or have been getting them for too long, and how they are ended.

Time enters through the log: the owner of a partition writes the records that end them, which take effect when they are
read back. A message is ended by a `control` `timeout`, a codec's stream by an empty value in that stream, which means
in every codec that nothing follows. A header states what must still hold at that point (`Condition`). Idle ones are
found by checking each a few times per period, by the host's clock: records carry their producers' clocks, which may be
wrong by years.
"""

from collections import deque
from collections.abc import Iterable
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from tokenmill.codecs.message_id import MESSAGE_ID
from tokenmill.errors import Undecodable
from tokenmill.partition.message import Message
from tokenmill.records import Headers, Record, header

CODEC = "tm-codec"
STREAM = "tm-stream"

LAST_OFFSET = "tm-last-offset"
"""Header of a record that ends something idle: the offset of the last record for it that the writer saw."""

OPENED_BEFORE = "tm-opened-before"
"""Header of a record that ends something too old: the offset, exclusive, up to which the writer had read. It ends what
was open there, not what opens later under the same name."""

LOOKS_SPARE = 1_000
"""Looks that a watch may have beyond two for each message or stream that is open: with more, those of ended ones are
dropped before they are due, as thousands may come and go in each second."""

LOOKS = 4
"""Checks of each in one period: it is found idle at most a quarter of the period too late."""


class Watched(Protocol):
    """A message or stream that may become idle."""

    last: int
    """Offset of the last record that was for it."""
    watched: bool
    """Whether it is checked from time to time for new records."""

    def going_on(self) -> object:
        """Whether it has not ended."""


Thing = TypeVar("Thing", bound=Watched)


Place: TypeAlias = tuple[str, bytes, bytes]
"""Identity of a codec's state: codec, key, and the header `tm-stream`."""


class TimeoutControl(NamedTuple):
    """A record for the input topic, in the message's partition."""

    key: bytes
    value: bytes | None
    headers: Headers


def timeout_control(message: Message, condition: "Condition | None" = None) -> TimeoutControl:
    """The record that ends `message` if the condition holds; by default, if no other chunk comes before it.

    An unnamed message is addressed without an id: the condition identifies it, and a replay that did not see its first
    record gave it another id.
    """
    who = {"message_id": message.id} if message.named else {}
    headers = [(CODEC, b"native"), (condition or Condition(last=message.last)).header()]
    return TimeoutControl(message.key, msgspec.json.encode(who | {"control": "timeout"}), headers)


def stream_end(place: Place, message_id: bytes, condition: "Condition") -> TimeoutControl:
    """The record that ends the stream at `place` if the condition holds; `message_id` is its last record's header."""
    codec, key, stream = place
    named = [(name, value) for name, value in ((STREAM, stream), (MESSAGE_ID, message_id)) if value]
    return TimeoutControl(key, None, [(CODEC, codec.encode()), *named, condition.header()])


class Condition(NamedTuple):
    """What must hold for a timeout to have an effect when it is read; exactly one of the two is set."""

    last: int | None = None
    """It got no record after this offset: it is idle."""
    opened_before: int | None = None
    """It was opened before this offset: it is too old, whatever it still gets."""

    def holds(self, opened: int, last: int) -> bool:
        """Whether it holds for a message opened at offset `opened` whose last record is at `last`."""
        if self.opened_before is not None:
            return opened < self.opened_before
        return self.last is None or last <= self.last

    def holds_of_stream(self, opened: int, last: int) -> bool:
        """The same for a stream: the writer of an idle timeout knows the stream's last record exactly.

        A later offset is that of another writer to the same message, which this timeout must not end.
        """
        return self.holds(opened, last) and self.last in (None, last)

    def cuts(self, last: int) -> bool:
        """Whether records up to `last` came for it after the writer of the timeout looked.

        A replay that begins among those records would take one of them for an opening.
        """
        return self.opened_before is not None and last >= self.opened_before

    def header(self) -> tuple[str, bytes]:
        """The header of a record that carries it."""
        if self.opened_before is not None:
            return OPENED_BEFORE, b"%d" % self.opened_before
        return LAST_OFFSET, b"%d" % (self.last or 0)


def condition_of(record: Record) -> Condition | None:
    """The condition of a timeout; None if the record has none. Raises `Undecodable`."""
    last, opened_before = _number(record, LAST_OFFSET), _number(record, OPENED_BEFORE)
    return None if last is None and opened_before is None else Condition(last, opened_before)


def _number(record: Record, name: str) -> int | None:
    value = header(record.headers, name)
    try:
        return None if value is None else int(value)
    except ValueError as problem:
        raise Undecodable(f"the header {name} is not a number: {value!r:.50}") from problem


class _Look(NamedTuple, Generic[Thing]):
    due: int
    thing: Thing
    last: int
    """Its last offset when it was looked at."""
    since: int
    """When that offset was first seen."""


class IdleWatch(Generic[Thing]):
    """Checks open messages or streams in turn. Times are in milliseconds of one monotonic clock."""

    def __init__(self) -> None:
        self._new: list[Thing] = []
        self._looks: deque[_Look[Thing]] = deque()
        self._room = LOOKS_SPARE
        """Things that may be added before the looks at ended ones are dropped."""

    def add(self, things: Iterable[Thing]) -> None:
        """From the next call of `overdue` on, watch those of these that are open and not watched yet."""
        for thing in things:
            if not thing.watched and thing.going_on():
                thing.watched = True
                self._new.append(thing)

    def overdue(self, now: int, timeout: int) -> list[Thing]:
        """Those that got nothing for `timeout`; one that stays idle is returned again after another `timeout`."""
        idle = []
        while self._looks and self._looks[0].due <= now:
            _, thing, last, since = self._looks.popleft()
            if not thing.going_on():
                thing.watched = False
                continue
            if thing.last != last:
                since = now
            elif now - since >= timeout:
                idle.append(thing)
                since = now
            self._look_again(thing, since, now, timeout)
        for thing in self._new:
            self._look_again(thing, now, now, timeout)
        self._room -= len(self._new)
        self._new.clear()
        if self._room < 0:
            self._drop_ended()
        return idle

    def _drop_ended(self) -> None:
        """Drop the looks at ended things; the next time is when as many as are left have been added."""
        kept: deque[_Look[Thing]] = deque()
        for look in self._looks:
            if look.thing.going_on():
                kept.append(look)
            else:
                look.thing.watched = False
        self._looks, self._room = kept, len(kept) + LOOKS_SPARE

    def _look_again(self, thing: Thing, since: int, now: int, timeout: int) -> None:
        self._looks.append(_Look(now + max(1, timeout // LOOKS), thing, thing.last, since))
