"""Dialect `session`: one record for each answer, from which a reader derives a conversation's session.

A record contains only what belongs to its answer, never the text: so it is the same whenever it is made, and may be
made twice. Ids of the provider's chat come from the part in which a provider sends them (see the codec `qwen_sse`).
Without such a part, the message's own id is what the next request refers to.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from tokenmill.dialects.dialect import Dialect, Envelope
from tokenmill.dialects.json_text import json_bytes
from tokenmill.events import Error, Event, Finish, FinishReason, Part, ReasoningDelta, TextDelta, ToolCall
from tokenmill.usage import tokens

CREATED = "response.created"
"""Kind of the part in which a provider sends its ids."""


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one answer, or one of its choices, adds to its conversation."""

    conversation_id: str
    message_id: str
    choice: int = 0
    conversation_hash: str = ""
    """Hash from `open`."""
    chat_id: str = ""
    """The provider's id of the conversation, where it has one."""
    parent_id: str
    """Id of this answer at the provider: the next request refers to it."""
    model: str = ""
    reason: FinishReason
    opened: int
    """Timestamp of the record that opened it, in milliseconds since the epoch."""
    ended: int
    """Timestamp of the record that ended it."""
    text_chars: int = 0
    reasoning_chars: int = 0
    tool_calls: int = 0
    errors: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


class SessionState(msgspec.Struct, array_like=True, gc=False):
    """The counts so far."""

    chat_id: str = ""
    parent_id: str = ""
    text_chars: int = 0
    reasoning_chars: int = 0
    tool_calls: int = 0
    errors: int = 0


class SessionDialect(Dialect):
    """Writes records of sessions."""

    name = "session"
    summary = "one record for each answer, with ids and counts and without its text: what sessions are derived from"
    state_type = SessionState

    def encode(
        self, state: SessionState | None, envelope: Envelope, event: Event, _seq: int | None, time: int
    ) -> Sequence[bytes]:
        """Write the record at the end, also of an answer whose state was lost: then without counts."""
        state = state or SessionState()
        if isinstance(event, Finish):
            return (json_bytes(_record(state, envelope, event, time)),)
        if isinstance(event, TextDelta):
            state.text_chars += len(event.delta)
        elif isinstance(event, ReasoningDelta):
            state.reasoning_chars += len(event.delta)
        elif isinstance(event, ToolCall):
            state.tool_calls += 1
        elif isinstance(event, Error):
            state.errors += 1
        elif isinstance(event, Part) and event.kind == CREATED and isinstance(event.value, Mapping):
            state.chat_id = _text(event.value.get("chat_id"))
            state.parent_id = _text(event.value.get("response_id"))
        return ()


def _record(state: SessionState, envelope: Envelope, event: Finish, time: int) -> SessionRecord:
    counts = tokens(_counts(event.usage))
    return SessionRecord(
        conversation_id=envelope.conversation_id,
        message_id=envelope.message_id,
        choice=envelope.choice,
        conversation_hash=envelope.request.conversation_hash,
        chat_id=state.chat_id,
        parent_id=state.parent_id or envelope.message_id,
        model=envelope.model,
        reason=event.reason,
        opened=envelope.created,
        ended=time,
        text_chars=state.text_chars,
        reasoning_chars=state.reasoning_chars,
        tool_calls=state.tool_calls,
        errors=state.errors,
        prompt_tokens=counts.input,
        completion_tokens=counts.output,
        total_tokens=counts.total,
    )


def _counts(usage: dict[str, Any] | UnsetType) -> Mapping[str, Any]:
    return {} if usage is UNSET else usage


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


SESSION = SessionDialect()
