"""W3C Trace Context: tracing headers of a message's first record, copied to all its outputs so that a trace continues.

https://www.w3.org/TR/trace-context/ defines their form. Headers of another form are left out, as the standard demands:
a malformed `traceparent`, a `tracestate` that is too long or comes without a `traceparent`.
"""

import re
from typing import NamedTuple, TypeAlias

from tokenmill.dialects import Envelope
from tokenmill.events import Finish
from tokenmill.limits import TRACE_STATE_BYTES
from tokenmill.records import TRACING, Headers, header

TraceContext: TypeAlias = tuple[tuple[str, bytes], ...]


class EndedMessage(NamedTuple):
    """An ended choice that is part of a trace, for the exporter of traces."""

    trace_context: TraceContext
    envelope: Envelope
    finish: Finish
    formats: tuple[str, ...]
    events: int
    """Number of events made of it."""
    time: int
    """Timestamp of the record that ended it, in milliseconds since the epoch."""


PARENT, STATE = TRACING

_parent = re.compile(rb"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}").fullmatch
_state = re.compile(rb"[ -~\t]+").fullmatch


def trace_context(headers: Headers) -> TraceContext:
    """The tracing headers of a record; empty if it has none."""
    parent = header(headers, PARENT) if headers else None
    if parent is None or not _parent(parent):
        return ()
    state = header(headers, STATE)
    if state is None or len(state) > TRACE_STATE_BYTES or not _state(state):
        return ((PARENT, parent),)
    return (PARENT, parent), (STATE, state)
