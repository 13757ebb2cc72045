"""Messages and streams that get no more records, or have got them for too long, and the records that end them.

Time enters through the log: the owner of a partition writes what ends them, and it takes effect when it comes round. A
message ends by a `control` `timeout`, and what a codec remembers of a stream by an empty value of that stream, which
says in every codec that nothing follows. A header says what must still hold then (`Condition`). What is idle is found
by looking at each a few times in a period, by the host's clock: records carry their producers' clocks, and those may be
wrong or from another year.
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
"""Header of a record that ends what is idle: the last offset of it that its writer saw."""

OPENED_BEFORE = "tm-opened-before"
"""Header of a record that ends what is too old: up to which offset, exclusive, its writer had read. What was open there
is what is meant; what opens later under the same name is not."""

LOOKS = 4
"""How often each is looked at in one period: it is found idle at most a quarter of the period too late."""


class Watched(Protocol):
    """What may become idle."""

    last: int
    """Offset of the last record that was for it."""
    watched: bool
    """Looked at from time to time, whether records still come."""

    def going_on(self) -> object:
        """Whether it has not ended."""


Thing = TypeVar("Thing", bound=Watched)


Place: TypeAlias = tuple[str, bytes, bytes]
"""Where a codec's state belongs: codec, key, and the header `tm-stream`."""


class TimeoutControl(NamedTuple):
    """A record for the input topic, for the partition that the message is on."""

    key: bytes
    value: bytes | None
    headers: Headers


def timeout_control(message: Message, condition: "Condition | None" = None) -> TimeoutControl:
    """What ends `message`, under a condition; if none is given, if it gets no chunk before.

    An unnamed message is addressed as such: the condition says which it was, and a replay that did not see its first
    record knows it by another id.
    """
    who = {"message_id": message.id} if message.named else {}
    headers = [(CODEC, b"native"), (condition or Condition(last=message.last)).header()]
    return TimeoutControl(message.key, msgspec.json.encode(who | {"control": "timeout"}), headers)


def stream_end(place: Place, message_id: bytes, condition: "Condition") -> TimeoutControl:
    """What ends the stream at `place`, under that condition; `message_id` is the header of its last record."""
    codec, key, stream = place
    named = [(name, value) for name, value in ((STREAM, stream), (MESSAGE_ID, message_id)) if value]
    return TimeoutControl(key, None, [(CODEC, codec.encode()), *named, condition.header()])


class Condition(NamedTuple):
    """What must hold for a timeout to have an effect when it comes round; one of the two."""

    last: int | None = None
    """It got no record after this offset: it is idle."""
    opened_before: int | None = None
    """It was opened before this offset: it is too old, whatever it still gets."""

    def holds(self, opened: int, last: int) -> bool:
        """Whether it does for what was opened at one offset and got its last record at another."""
        if self.opened_before is not None:
            return opened < self.opened_before
        return self.last is None or last <= self.last

    def holds_of_stream(self, opened: int, last: int) -> bool:
        """The same for a stream: whoever says that it is idle knows its last record exactly.

        An offset behind that is one at which others wrote to the same message, which it must not end.
        """
        return self.holds(opened, last) and self.last in (None, last)

    def cuts(self, last: int) -> bool:
        """Whether what it ends, which got its last record at `last`, went on after the writer of the timeout looked.

        A replay that begins among those records would take one of them for an opening.
        """
        return self.opened_before is not None and last >= self.opened_before

    def header(self) -> tuple[str, bytes]:
        """As a record has it."""
        if self.opened_before is not None:
            return OPENED_BEFORE, b"%d" % self.opened_before
        return LAST_OFFSET, b"%d" % (self.last or 0)


def condition_of(record: Record) -> Condition | None:
    """That of a timeout; None if the record has none. Raises `Undecodable`."""
    last, opened_before = _number(record, LAST_OFFSET), _number(record, OPENED_BEFORE)
    return None if last is None and opened_before is None else Condition(last, opened_before)


def _number(record: Record, name: str) -> int | None:
    value = header(record.headers, name)
    try:
        return None if value is None else int(value)
    except ValueError as problem:
        raise Undecodable(f"the header {name} is no number: {value!r:.50}") from problem


class _Look(NamedTuple, Generic[Thing]):
    due: int
    thing: Thing
    last: int
    """Its last offset when it was looked at."""
    since: int
    """When that offset was first seen."""


class IdleWatch(Generic[Thing]):
    """Looks at what is open in turn. Times are in milliseconds of one clock that does not go back."""

    def __init__(self) -> None:
        self._new: list[Thing] = []
        self._looks: deque[_Look[Thing]] = deque()

    def add(self, things: Iterable[Thing]) -> None:
        """Watch these from the next call of `overdue` on, those that are open and not watched yet."""
        for thing in things:
            if not thing.watched and thing.going_on():
                thing.watched = True
                self._new.append(thing)

    def overdue(self, now: int, timeout: int) -> list[Thing]:
        """Those that got nothing for `timeout`; one that stays idle is named again after another."""
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
        self._new.clear()
        return idle

    def _look_again(self, thing: Thing, since: int, now: int, timeout: int) -> None:
        self._looks.append(_Look(now + max(1, timeout // LOOKS), thing, thing.last, since))
