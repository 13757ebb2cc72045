"""Messages and streams that get no more records, and the records that end them.

Time enters through the log: the owner of a partition writes what ends them, and it takes effect when it comes round,
unless records have come in between: a message ends by a `control` `timeout`, and what a codec remembers of a stream by
an empty value of that stream, which says in every codec that nothing follows. What is idle is found by looking at each
a few times in a period, by the host's clock: records carry their producers' clocks, and those may be wrong or from
another year.
"""

from collections import deque
from collections.abc import Iterable
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from tokenmill.codecs.message_id import MESSAGE_ID
from tokenmill.errors import Undecodable
from tokenmill.records import Headers, Record, header
from tokenmill.session.message import Message

CODEC = "tm-codec"
STREAM = "tm-stream"

LAST_OFFSET = "tm-last-offset"
"""Header of a record that ends what is idle: the last offset of it that its writer saw."""

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
    value: bytes
    headers: Headers


def timeout_control(message: Message) -> TimeoutControl:
    """What ends `message`, if it gets no chunk before.

    An unnamed message is addressed as such: the last offset says which it was, and a replay that did not see its first
    record knows it by another id.
    """
    who = {"message_id": message.id} if message.named else {}
    headers = [(CODEC, b"native"), (LAST_OFFSET, b"%d" % message.last)]
    return TimeoutControl(message.key, msgspec.json.encode(who | {"control": "timeout"}), headers)


def stream_end(place: Place, last: int, message_id: bytes) -> TimeoutControl:
    """What ends the stream at `place`, if it gets no record after the offset `last`; `message_id` is its header."""
    codec, key, stream = place
    named = [(name, value) for name, value in ((STREAM, stream), (MESSAGE_ID, message_id)) if value]
    return TimeoutControl(key, b"", [(CODEC, codec.encode()), *named, (LAST_OFFSET, b"%d" % last)])


def last_offset(record: Record) -> int | None:
    """What the writer of a timeout had seen, if the record says it. Raises `Undecodable`."""
    value = header(record.headers, LAST_OFFSET)
    try:
        return None if value is None else int(value)
    except ValueError as problem:
        raise Undecodable(f"the header {LAST_OFFSET} is no number: {value!r:.50}") from problem


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
