"""Recognizes records that were delivered before.

A worker publishes at least once: after a crash it may publish the last events of a message again, byte for byte the
same. In every dialect, the headers `tm-seq` and `tm-part` identify the event and the payload, and `tm-opened` the
message: an id may be used again, and the `seq` of that message begins at 0.
"""

from collections import OrderedDict
from typing import TypeAlias

from tokenmill.records import Headers, header

REMEMBERED_MESSAGES = 65_536
"""Number of messages whose last event is kept, in about 25 MiB: far more than can be repeated, as repeats reach back by
one commit interval of one partition."""

Position: TypeAlias = tuple[int, int]
"""The `seq` of an event, and the number of a payload of it."""

Use: TypeAlias = tuple[bytes | None, bytes | None, bytes | None, bytes | None]
"""A use of an id: the key, message id, choice, and time at which the message began."""


class Repeats:
    """Keeps the last event of each message of one topic, and recognizes repeated ones."""

    def __init__(self, remembered: int = REMEMBERED_MESSAGES) -> None:
        self._remembered = remembered
        self._last: OrderedDict[Use, Position] = OrderedDict()

    def fresh(self, key: bytes | None, headers: Headers) -> bool:
        """Whether a record is no repeat.

        A record without `tm-seq` (a late notice, a tool result), or with one that no worker writes, always counts as
        new.
        """
        position = _position(headers)
        if position is None:
            return True
        opened = header(headers, "tm-opened")
        message = (key, header(headers, "tm-message-id"), header(headers, "tm-choice"), opened)
        last = self._last.get(message)
        if last is not None and position <= last:
            return False
        self._last[message] = position
        self._last.move_to_end(message)
        if len(self._last) > self._remembered:
            self._last.popitem(last=False)
        return True


def _position(headers: Headers) -> Position | None:
    seq, part = header(headers, "tm-seq"), header(headers, "tm-part")
    if seq is None:
        return None
    try:
        return int(seq), int(part.split(b"/")[0]) if part else 1
    except ValueError:
        return None
