"""A call that a model made, as it is on the topic, and what is written of it on the topic `tool-state`.

A call is identified by its conversation, message, choice and id, and by when its message began: ids of messages, and so
of their calls, may be used again.
"""

from contextlib import suppress
from hashlib import sha256
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET

from tokenmill.errors import TooLarge, Undecodable
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

    Raises `RecordError` for a call that no worker could have written, of more than `most` bytes above all: topics may
    not take what is written of it.
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
    _check(event, most)
    return _call(event, opened, record)


def _check(event: ToolCall, most: int) -> None:
    """Raise `RecordError` if the call or one of its names is too long, or if a text has half a surrogate pair, which
    UTF-8 can't encode.
    """
    names = event.conversation_id, event.message_id, event.id, event.name
    try:
        size, longest = len(msgspec.json.encode(event)), max(len(name.encode()) for name in names)
    except UnicodeEncodeError as problem:
        raise Undecodable("it has half a surrogate pair") from problem
    if size > most:
        raise TooLarge(f"it has {size:,} bytes, and limits.output_bytes allows {most:,}")
    if longest > KEY_BYTES:
        raise TooLarge(f"a name has {longest:,} bytes, and may have {KEY_BYTES:,}")


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
