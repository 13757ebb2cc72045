"""Dialect `ai_sdk_parts`: the stream parts that a language model of the AI SDK sends, after its middleware.

1. Text and reasoning are blocks of start, deltas and end. A block ends before a call.
2. A call is `tool-input-start`, its arguments as JSON while they arrive, then `tool-input-end` directly followed by
   `tool-call`. The joined deltas are the `input` of the call.
3. A call that fails has its `tool-input-end` and no `tool-call`: an `error` part gives the reason, with the original
   text. An error about a call that still follows is left out: the SDK checks names and schemas itself.
4. `part` events that are parts of the SDK come out unchanged, any other as a `raw` part.
5. `finish` has the unified reason and the provider's own.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from tokenmill.dialects.arguments import GrowingArguments, whole
from tokenmill.dialects.dialect import Dialect, Envelope, warns
from tokenmill.dialects.json_text import json_bytes
from tokenmill.events import (
    ArgumentDelta,
    Error,
    Event,
    Finish,
    Part,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputStart,
    ToolResult,
)

_DROP_REASONS = {"malformed-call": "malformed-tool-call-body", "unfinished-call": "unfinished-tool-call"}
"""The middleware's words for the reasons why a call is dropped."""

_UNIFIED = {"cancelled": "other", "timeout": "other"}
"""Unified reasons where they differ from the native ones."""

_OTHER = frozenset({"other", "unknown"})
"""Providers' words for a reason that the SDK has no name for."""


class AiSdkPartsState(msgspec.Struct, array_like=True, gc=False):
    """The calls whose input has begun, by id."""

    calls: dict[str, GrowingArguments] = {}
    called: str = ""
    """The call whose `tool-call` was just sent; an `error` in its place may still follow."""

    @property
    def memory(self) -> int:
        """About how many bytes it takes."""
        return sum(call.memory for call in self.calls.values())


class AiSdkPartsDialect(Dialect):
    """Parts of a model's stream."""

    name = "ai_sdk_parts"
    summary = "stream parts of the AI SDK, as a language model sends them through its tool-call middleware"
    state_type = AiSdkPartsState
    streams_tool_input = True
    streams_arguments = True
    ignores_pieces = True
    pieces = (("delta",),)

    def encode(
        self, state: AiSdkPartsState | None, envelope: Envelope, event: Event, _seq: int | None, _time: int
    ) -> Sequence[bytes]:
        """Return the parts of one event."""
        state = AiSdkPartsState() if state is None else state
        if state.called:
            if getattr(event, "id", None) != state.called:
                state.calls.pop(state.called, None)
            state.called = ""
        make = _MAKERS.get(event.__class__)
        return [json_bytes(part) for part in make(state, envelope, event)] if make else ()


def _edge(
    _state: AiSdkPartsState, _envelope: Envelope, event: TextStart | TextEnd | ReasoningStart | ReasoningEnd
) -> list[dict[str, Any]]:
    return [{"type": event.type, "id": event.id}]


def _text(_state: AiSdkPartsState, _envelope: Envelope, event: TextDelta) -> list[dict[str, Any]]:
    return [{"type": "text-delta", "id": event.id, "delta": event.delta}]


def _reasoning(_state: AiSdkPartsState, _envelope: Envelope, event: ReasoningDelta) -> list[dict[str, Any]]:
    return [{"type": "reasoning-delta", "id": event.id, "delta": event.delta}]


def _input_start(state: AiSdkPartsState, _envelope: Envelope, event: ToolInputStart) -> list[dict[str, Any]]:
    state.calls[event.id] = GrowingArguments(event.name, event.encoding == "json")
    return [{"type": "tool-input-start", "id": event.id, "toolName": event.name}]


def _input_delta(
    state: AiSdkPartsState, envelope: Envelope, event: ToolInputDelta | ArgumentDelta
) -> list[dict[str, Any]]:
    call = state.calls.get(event.id)
    return _deltas(event.id, call.more(event, envelope)) if call else []


def _deltas(call_id: str, delta: str) -> list[dict[str, Any]]:
    return [{"type": "tool-input-delta", "id": call_id, "delta": delta}] if delta else []


def _tool_call(state: AiSdkPartsState, _envelope: Envelope, event: ToolCall) -> list[dict[str, Any]]:
    call = state.calls.get(event.id)
    done = {"type": "tool-call", "toolCallId": event.id, "toolName": event.name}
    if call is None:
        return [{**done, "input": whole(event.arguments)}]
    state.called = event.id
    rest = call.rest(event.arguments)
    end = {"type": "tool-input-end", "id": event.id}
    return [*_deltas(event.id, rest), end, {**done, "input": call.sent.text() + rest}]


def _part(_state: AiSdkPartsState, _envelope: Envelope, event: Part) -> list[dict[str, Any]]:
    value = event.value
    if isinstance(value, dict) and value.get("type") == event.kind:
        return [value]
    named = {} if event.id is UNSET else {"id": event.id}
    return [{"type": "raw", "rawValue": {"kind": event.kind, "value": value, **named}}]


def _error(state: AiSdkPartsState, _envelope: Envelope, event: Error) -> list[dict[str, Any]]:
    if warns(event) and event.raw is UNSET:
        return []
    told = {
        "code": event.code,
        "message": event.message,
        "dropReason": _DROP_REASONS.get(event.code),
        "toolCallId": event.id,
        "toolName": event.name,
        "toolCall": event.raw,
    }
    error = {"type": "error", "error": {key: value for key, value in told.items() if value not in (None, UNSET)}}
    begun = isinstance(event.id, str) and state.calls.pop(event.id, None) is not None
    return [{"type": "tool-input-end", "id": event.id}, error] if begun else [error]


def _finish(_state: AiSdkPartsState, _envelope: Envelope, event: Finish) -> list[dict[str, Any]]:
    raw = event.reason if event.raw_reason is UNSET else event.raw_reason
    unified = "other" if event.reason == "stop" and raw.lower() in _OTHER else _UNIFIED.get(event.reason, event.reason)
    usage = {} if event.usage is UNSET else {"usage": event.usage}
    return [{"type": "finish", "finishReason": {"unified": unified, "raw": raw}, **usage}]


def _tool_result(_state: AiSdkPartsState, _envelope: Envelope, event: ToolResult) -> list[dict[str, Any]]:
    failed = event.error is not UNSET
    result = event.error if failed else None if event.result is UNSET else event.result
    told = {"type": "tool-result", "toolCallId": event.id, "toolName": event.name, "result": result}
    return [told | {"isError": True} if failed else told]


_MAKERS: dict[type[Event], Callable[[AiSdkPartsState, Envelope, Any], list[dict[str, Any]]]] = {
    TextStart: _edge,
    TextDelta: _text,
    TextEnd: _edge,
    ReasoningStart: _edge,
    ReasoningDelta: _reasoning,
    ReasoningEnd: _edge,
    ToolInputStart: _input_start,
    ToolInputDelta: _input_delta,
    ArgumentDelta: _input_delta,
    ToolCall: _tool_call,
    Part: _part,
    Error: _error,
    Finish: _finish,
    ToolResult: _tool_result,
}
"""The handler of each event. Events that are missing here are covered by others."""

AI_SDK_PARTS = AiSdkPartsDialect()
