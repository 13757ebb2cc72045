"""Drop what was delivered before.

A worker publishes at least once: after a crash it may publish again the last events of a message, byte for byte the
same. The headers `tm-seq` and `tm-part` say which event a record is part of, in every dialect, and `tm-opened` of which
message: an id may be used again, and what has it then counts from 0.
"""

from collections import OrderedDict
from typing import TypeAlias

from tokenmill.records import Headers, header

REMEMBERED_MESSAGES = 65_536
"""For how many messages the last event is remembered: a repeat reaches back by one commit interval of one partition,
so this is far more than can be repeated, in about 25 MiB."""

Position: TypeAlias = tuple[int, int]

Use: TypeAlias = tuple[bytes | None, bytes | None, bytes | None, bytes | None]
"""Of an id, by a choice of a message."""


class Repeats:
    """Remembers the last event of each message of one topic and recognises what comes again."""

    def __init__(self, remembered: int = REMEMBERED_MESSAGES) -> None:
        self._remembered = remembered
        self._last: OrderedDict[Use, Position] = OrderedDict()

    def fresh(self, key: bytes | None, headers: Headers) -> bool:
        """True if this record was not seen. A record without `tm-seq` (a late notice, a tool result) always is."""
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
    return int(seq), int(part.split(b"/")[0]) if part else 1
