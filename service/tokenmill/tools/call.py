"""A call that a model made, as it is on the topic, and what is written of it on the topic `tool-state`.

A call is identified by its conversation, message, choice and id, and by when its message began: ids of messages, and so
of their calls, may be used again.
"""

from contextlib import suppress
from hashlib import sha256
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET

from tokenmill.events import Finish, ToolCall, decode_event
from tokenmill.limits import KEY_BYTES, PAYLOAD_BYTES
from tokenmill.records import TRACING, Record, header

Stage: TypeAlias = Literal["waiting", "asking", "running", "done"]
"""Stage of a call: it waits for a place; it waits for a person; it is claimed, so it may be at its server; its result
is written."""


class Call(msgspec.Struct, frozen=True):
    """One call."""

    conversation: str
    message: str
    choice: int
    opened: int
    """When its message began, in milliseconds since the epoch."""
    id: str
    name: str
    """Name of the tool, as models use it."""
    arguments: dict[str, Any]
    time: int
    """Time of its record, in milliseconds since the epoch."""
    tracing: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> bytes:
        """Key that identifies the call."""
        return msgspec.json.encode([self.conversation, self.message, self.choice, self.opened, self.id])

    @property
    def answer(self) -> bytes:
        """Key of the answer that the call is part of."""
        return answer_key(self.conversation, self.message, self.choice, self.opened)

    @property
    def repeat_key(self) -> str:
        """Key that is the same for each attempt, for tools that recognize a repeated call."""
        return sha256(self.key).hexdigest()


class Written(msgspec.Struct, frozen=True, omit_defaults=True):
    """A record of `tool-state`; its key is the call's."""

    stage: Stage
    time: int
    """When it was written, in milliseconds since the epoch."""
    call: Call | None = None
    """The call, unless it is done: the next owner needs it."""
    fingerprint: str = ""
    """Fingerprint of the tool that a person is asked about."""
    until: int = 0
    """Time at which the question ends, in milliseconds since the epoch."""


def answer_key(conversation: str, message: str, choice: int, opened: int) -> bytes:
    """Return the key of an answer: what the keys of its calls begin with."""
    return msgspec.json.encode([conversation, message, choice, opened])[:-1]


def read_calls(record: Record, most: int = PAYLOAD_BYTES) -> Call | bytes | None:
    """Read a record of `tool-calls`: a call, or the key of an answer whose calls are no longer wanted.

    A call of more than `most` bytes is none: a worker wrote no such payload, and topics may not take what is written
    of it.
    """
    try:
        event = decode_event(record.value or b"")
        opened = int(header(record.headers, "tm-opened") or 0)
    except (msgspec.DecodeError, ValueError):
        return None
    if isinstance(event, Finish) and event.reason == "cancelled":
        with suppress(UnicodeEncodeError):
            return answer_key(event.conversation_id, event.message_id, event.choice, opened)
        return None
    if not isinstance(event, ToolCall) or event.problem is not UNSET:
        return None
    return _call(event, opened, record) if _can_be_written(event, most) else None


def _can_be_written(event: ToolCall, most: int) -> bool:
    """Whether a worker could have written it: it is short enough, as are its names, of which records have several, and
    no text has half a surrogate pair, which UTF-8 can't encode.
    """
    names = event.conversation_id, event.message_id, event.id, event.name
    try:
        return len(msgspec.json.encode(event)) <= most and all(len(name.encode()) <= KEY_BYTES for name in names)
    except UnicodeEncodeError:
        return False


def _call(event: ToolCall, opened: int, record: Record) -> Call:
    found = [(name, header(record.headers, name)) for name in TRACING]
    tracing = tuple((name, value.decode("latin-1")) for name, value in found if value)
    return Call(
        event.conversation_id,
        event.message_id,
        event.choice,
        opened,
        event.id,
        event.name,
        event.arguments,
        record.timestamp,
        tracing,
    )
