"""Dialect `native`: each event as one JSON object, exactly as msgspec writes the struct with its envelope.

The envelope's fields come last in the struct, so a payload is the event's own fields, the message's constant bytes, and
two numbers. That costs half as much as a new struct for each event.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from tokenmill.dialects.dialect import Dialect, Envelope
from tokenmill.dialects.json_text import odd_bytes
from tokenmill.events import Event

_encode = msgspec.json.Encoder().encode

MADE_SEQS = 2048
"""Events whose number's bytes are made once: those of nearly all messages."""

_SEQS = [b',"seq":%d' % seq for seq in range(MADE_SEQS)]


class NativeDialect(Dialect):
    """Writes the events themselves."""

    name = "native"
    summary = "the events themselves, one JSON object each"
    streams_tool_input = True
    pieces = (("delta",),)

    def __init__(self) -> None:
        self._end = (-1, b"")
        """The last time, and its bytes: records that come together often share it. It is one value, so that a thread
        never sees half of another thread's."""

    def encode(self, _state: Any, envelope: Envelope, event: Event, seq: int | None, time: int) -> Sequence[bytes]:
        """Return the event as one JSON object."""
        try:
            own = _encode(event)
        except (OverflowError, UnicodeEncodeError):
            own = odd_bytes(event)
        end = self._end
        if end[0] != time:
            self._end = end = (time, b',"time":%d}' % time)
        number = b"" if seq is None else _SEQS[seq] if seq < MADE_SEQS else b',"seq":%d' % seq
        return (b"".join((own[:-1], envelope.native, number, end[1])),)


NATIVE = NativeDialect()
