"""W3C Trace Context: the headers of a message's first record that all its outputs have, so that a trace goes on.

https://www.w3.org/TR/trace-context/ says how they look. What does not look so is left out, as the standard asks: a
`traceparent` of another form, a `tracestate` that is too long or comes without one.
"""

import re
from typing import NamedTuple, TypeAlias

from tokenmill.dialects import Envelope
from tokenmill.events import Finish
from tokenmill.limits import TRACE_STATE_BYTES
from tokenmill.records import TRACING, Headers, header

TraceContext: TypeAlias = tuple[tuple[str, bytes], ...]


class EndedMessage(NamedTuple):
    """A choice that is part of a trace, when it has ended: for whoever keeps traces."""

    trace_context: TraceContext
    envelope: Envelope
    finish: Finish
    formats: tuple[str, ...]
    events: int
    """How many were made of it."""
    time: int
    """Of the record that ended it, in milliseconds since the epoch."""


PARENT, STATE = TRACING

_parent = re.compile(rb"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}").fullmatch
_state = re.compile(rb"[ -~\t]+").fullmatch


def trace_context(headers: Headers) -> TraceContext:
    """The tracing headers among those of a record; empty if there are none."""
    parent = header(headers, PARENT) if headers else None
    if parent is None or not _parent(parent):
        return ()
    state = header(headers, STATE)
    if state is None or len(state) > TRACE_STATE_BYTES or not _state(state):
        return ((PARENT, parent),)
    return (PARENT, parent), (STATE, state)
