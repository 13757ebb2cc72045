"""A message rendered from its native events, by any holder of them: the worker, a reader of the topic, a program.

Rules that all of them share, so that they write the same bytes:

1. A `message-start` makes a new state; the content of `Envelope` comes from it and from the events' own fields.
2. Deltas of calls go to a dialect that streams calls by default, or if the message asks for `stream_tool_input`.
3. A payload that is larger than the message allows becomes an `error` `limit`, rendered in the place of its event.
4. Events without `seq` are about a message whose state was lost: they are rendered without a state.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET

from tokenmill.dialects.dialect import Dialect, Envelope
from tokenmill.events import (
    ArgumentDelta,
    Error,
    ErrorCode,
    Event,
    Finish,
    MessageStart,
    Part,
    ToolCall,
    ToolInputDelta,
)

DELTAS_OF_CALLS = (ToolInputDelta, ArgumentDelta)
"""Events that a dialect which streams calls only on request does not get elsewhere: they are the most frequent."""

TOO_LARGE = "this {} is larger than an output record may be"

_Open: TypeAlias = tuple[Envelope, Any]


def fits(payloads: Sequence[bytes], room: int) -> bool:
    """Whether each payload is small enough."""
    return all(len(payload) <= room for payload in payloads)


def in_place(
    dialect: Dialect,
    state: Any,
    envelope: Envelope,
    instead: Event,
    seq: int | None,
    time: int,
    *,
    room: int,
    errors: bool,
) -> Sequence[bytes]:
    """Return the payloads that are published in place of an event: those that fit.

    There are none where it is an error and `errors` are not asked for.
    """
    if isinstance(instead, Error) and not errors:
        return ()
    return [payload for payload in dialect.encode(state, envelope, instead, seq, time) if len(payload) <= room]


def instead_of(event: Event, code: ErrorCode, why: str) -> Event:
    """Return what is published in place of an event that can't be: an end without counts, else an error."""
    if isinstance(event, Finish):
        return msgspec.structs.replace(event, usage=UNSET)
    name = event.name if isinstance(event, ToolCall) else UNSET
    call = event.id if isinstance(event, ToolCall | Part) else UNSET
    return Error(code=code, message=why.format(event.type), id=call, name=name)


class Renderer:
    """Native events of any number of messages in, the payloads of one dialect out."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._open: dict[tuple[str, str, int], _Open] = {}

    def render(self, event: Event) -> Sequence[bytes]:
        """Return the payloads of an event with its envelope's fields, as it stands on the topic `events`."""
        who = event.conversation_id, event.message_id, event.choice
        time = event.time or 0
        if isinstance(event, MessageStart):
            state_type = self._dialect.state_type
            self._open[who] = Envelope(*who, time, event), state_type() if state_type else None
        envelope, state = self._open.get(who) or (Envelope(*who, time), None)
        if isinstance(event, Finish):
            self._open.pop(who, None)
        if event.seq is UNSET:
            return self._dialect.encode(None, envelope, _bare(event), None, time)
        if isinstance(event, DELTAS_OF_CALLS) and not self._streams(envelope):
            return ()
        return self._fitting(state, envelope, _bare(event), event.seq, time)

    def _streams(self, envelope: Envelope) -> bool:
        return envelope.streams_input(by_itself=self._dialect.streams_tool_input)

    def _fitting(self, state: Any, envelope: Envelope, event: Event, seq: int, time: int) -> Sequence[bytes]:
        room = envelope.payload_bytes
        payloads = self._dialect.encode(state, envelope, event, seq, time)
        if fits(payloads, room):
            return payloads
        instead = instead_of(event, "limit", TOO_LARGE)
        return in_place(self._dialect, state, envelope, instead, seq, time, room=room, errors=True)


def _bare(event: Event) -> Event:
    """Return the event as a parser makes it: the dialect writes its envelope."""
    return msgspec.structs.replace(event, conversation_id="", message_id="", choice=0, seq=UNSET, time=UNSET)
