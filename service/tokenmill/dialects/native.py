"""Dialect `native`: each event as one JSON object, exactly as msgspec writes the struct with its envelope.

The envelope's fields come last in the struct, so a payload is the event's own fields, the message's constant bytes, and
two numbers. That costs half of what a new struct for each event would.
"""

import json
from collections.abc import Sequence
from math import isfinite
from typing import Any

import msgspec

from tokenmill.dialects.dialect import Envelope
from tokenmill.events import Event

_encode = msgspec.json.Encoder().encode


class NativeDialect:
    """The events themselves."""

    name = "native"
    summary = "the events themselves, one JSON object each"
    state_type = None
    streams_tool_input = True

    def encode(self, _state: Any, envelope: Envelope, event: Event, seq: int | None, time: int) -> Sequence[bytes]:
        """The event as one JSON object."""
        try:
            own = _encode(event)
        except (OverflowError, UnicodeEncodeError):
            own = _encode_odd(event)
        if seq is None:
            return (own[:-1] + envelope.native + b',"time":%d}' % time,)
        return (own[:-1] + envelope.native + b',"seq":%d,"time":%d}' % (seq, time),)


def _encode_odd(event: Event) -> bytes:
    """An event with what msgspec refuses to write: integers of more than 64 bits, and halves of surrogate pairs."""
    plain = _finite(msgspec.to_builtins(event))
    return json.dumps(plain, ensure_ascii=True, separators=(",", ":")).encode()


def _finite(value: Any) -> Any:
    """The value with what JSON has no word for (NaN, infinities) as null, as msgspec writes it."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value


NATIVE = NativeDialect()
