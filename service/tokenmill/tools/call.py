"""A call that a model made, as it stands on the topic, and what is written of it on the topic `tool-state`.

A call is known by its conversation, message, choice and id, and by when its message began: ids of messages, and so of
their calls, may come again.
"""

from contextlib import suppress
from hashlib import sha256
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET

from tokenmill.events import Finish, ToolCall, decode_event
from tokenmill.records import TRACING, Record, header

Stage: TypeAlias = Literal["waiting", "asking", "running", "done"]
"""Of a call: it waits for a place; it waits for a person's word; it has been claimed, so that it may be at its server;
its result is written."""


class Call(msgspec.Struct, frozen=True):
    """One call."""

    conversation: str
    message: str
    choice: int
    opened: int
    """When its message began, in milliseconds since the epoch."""
    id: str
    name: str
    """The tool's, as models call it."""
    arguments: dict[str, Any]
    time: int
    """Of its record, in milliseconds since the epoch."""
    tracing: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> bytes:
        """What it is known by."""
        return msgspec.json.encode([self.conversation, self.message, self.choice, self.opened, self.id])

    @property
    def answer(self) -> bytes:
        """What the answer is known by that it is part of."""
        return answer_key(self.conversation, self.message, self.choice, self.opened)

    @property
    def repeat_key(self) -> str:
        """The same for each attempt, for tools that recognise a call that comes again."""
        return sha256(self.key).hexdigest()


class Written(msgspec.Struct, frozen=True, omit_defaults=True):
    """A record of `tool-state`; its key is the call's."""

    stage: Stage
    time: int
    """When it was written, in milliseconds since the epoch."""
    call: Call | None = None
    """As long as it is not done: whoever takes over has to know it."""
    fingerprint: str = ""
    """Of the tool that somebody is asked about."""
    until: int = 0
    """When nobody is asked any more, in milliseconds since the epoch."""


def answer_key(conversation: str, message: str, choice: int, opened: int) -> bytes:
    """What an answer is known by: what the keys of its calls begin with."""
    return msgspec.json.encode([conversation, message, choice, opened])[:-1]


def read_calls(record: Record) -> Call | bytes | None:
    """What a record of `tool-calls` says: a call, or the key of an answer whose calls are not wanted any more."""
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
    return _call(event, opened, record) if _can_be_written(event, record.value or b"") else None


def _can_be_written(event: ToolCall, source: bytes) -> bool:
    """Whether no text in it has half a pair of surrogates, which no worker writes and UTF-8 does not have."""
    if b"\\u" not in source:
        return True
    try:
        msgspec.json.encode(event)
    except UnicodeEncodeError:
        return False
    return True


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
