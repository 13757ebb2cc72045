"""Dialect `native`: each event as one JSON object, exactly as msgspec writes the struct with its envelope.

The envelope's fields come last in the struct, so a payload is the event's own fields, the message's constant bytes, and
two numbers. That costs half of what a new struct for each event would.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from tokenmill.dialects.dialect import Envelope
from tokenmill.dialects.json_text import odd_bytes
from tokenmill.events import Event

_encode = msgspec.json.Encoder().encode


class NativeDialect:
    """The events themselves."""

    name = "native"
    summary = "the events themselves, one JSON object each"
    state_type = None
    streams_tool_input = True
    streams_arguments = False
    describes_tools = False
    names_events = False

    def encode(self, _state: Any, envelope: Envelope, event: Event, seq: int | None, time: int) -> Sequence[bytes]:
        """The event as one JSON object."""
        try:
            own = _encode(event)
        except (OverflowError, UnicodeEncodeError):
            own = odd_bytes(event)
        if seq is None:
            return (own[:-1] + envelope.native + b',"time":%d}' % time,)
        return (own[:-1] + envelope.native + b',"seq":%d,"time":%d}' % (seq, time),)


NATIVE = NativeDialect()
