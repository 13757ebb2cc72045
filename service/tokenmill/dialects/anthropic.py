"""Dialect `anthropic`: the events of an Anthropic Messages stream, as the SDKs of Anthropic read them.

1. A payload is the data of one server-sent event; the `event:` line, which those SDKs need, is its `type`.
2. `message_start` comes first; the stream ends with `message_stop`, or with `error` where the provider failed, the
   message timed out or its state was lost.
3. Blocks have indexes from 0. Text and thinking begin when there is something to show. A call is one block with its
   whole arguments, unless the message sets `stream_tool_input`: then they grow. Of calls that grow side by side only
   the first grows, the others come whole.
4. A client of this shape reads the arguments of a call as far as they have come, and nothing on the wire takes them
   back. So growing is off unless it is asked for: otherwise a call that breaks off would look like a call. Where it is
   on, the block of a call that breaks off ends with incomplete JSON, for clients that check.
5. A signature ends its block of thinking, as a client sends both back together; a signature of hidden thinking has an
   empty block. Citations belong to the text that is open.
6. Counts of tokens come with the last `message_delta`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from tokenmill.dialects.arguments import GrowingArguments, whole
from tokenmill.dialects.dialect import Dialect, Envelope, Handlers, Payloads, failure_text, handled, voids
from tokenmill.dialects.json_text import json_bytes, pieces
from tokenmill.events import (
    ArgumentDelta,
    Error,
    Event,
    Finish,
    FinishReason,
    MessageStart,
    Part,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputStart,
)
from tokenmill.usage import tokens

STOP_REASONS: dict[FinishReason, str] = {
    "stop": "end_turn",
    "tool-calls": "tool_use",
    "length": "max_tokens",
    "content-filter": "refusal",
    "cancelled": "end_turn",
}
"""Reasons that a client of this shape supports; the others end the stream with an `error`."""

_RAW_REASONS = frozenset({"stop_sequence", "pause_turn", "model_context_window_exceeded"})
"""The provider's own words that this shape has, too. They do not hide a call: clients run tools only at `tool_use`."""

_ERROR_TYPES: dict[FinishReason, str] = {"timeout": "timeout_error"}
_ERROR_TYPE = "api_error"

_TEXT: Final = "text"
_THINKING: Final = "thinking"


class GrowingCall(msgspec.Struct, array_like=True, gc=False):
    """The call that is shown as it grows."""

    id: str
    index: int
    """Index of its block."""
    arguments: GrowingArguments


class AnthropicState(msgspec.Struct, array_like=True, gc=False):
    """What has begun and not ended."""

    blocks: int = 0
    """Number of blocks begun so far."""
    kind: str = ""
    """Kind of the open block of text or thinking, which is the last one of its kind; empty if there is none."""
    index: int = 0
    """Index of that block."""
    call: GrowingCall | None = None
    failure: str = ""
    """The provider's words when it failed."""
    cut: bool = False
    """Whether the block of text belongs to a call that was cut off."""
    called: bool = False
    """Whether a call has begun in the answer."""

    @property
    def memory(self) -> int:
        """About how many bytes it takes."""
        return self.call.arguments.memory if self.call is not None else 0


class AnthropicDialect(Dialect):
    """Writes blocks of text, thinking and tool use."""

    name = "anthropic"
    summary = "events of an Anthropic Messages stream; the event name of each is its type"
    state_type = AnthropicState
    streams_arguments = True
    names_events = True
    ignores_pieces = True
    pieces = (("delta", "text"), ("delta", "thinking"), ("delta", "partial_json"))

    def encode(
        self, state: AnthropicState | None, envelope: Envelope, event: Event, _seq: int | None, _time: int
    ) -> Sequence[bytes]:
        """Return the payloads of one event."""
        if state is None:
            return _lost(event)
        return handled(_HANDLERS, state, envelope, event)


def _start(_state: AnthropicState, envelope: Envelope, event: MessageStart, out: Payloads) -> None:
    message: dict[str, Any] = {
        "id": envelope.choice_id,
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": event.model,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
    out.append(json_bytes({"type": "message_start", "message": message}))


# Blocks


def _begin_block(state: AnthropicState, block: dict[str, Any], out: Payloads) -> int:
    index = state.blocks
    state.blocks += 1
    out.append(json_bytes({"type": "content_block_start", "index": index, "content_block": block}))
    return index


def _open_block(state: AnthropicState, kind: str, out: Payloads) -> None:
    """Open a block of text or thinking, in place of the open one."""
    _end_block(state, out)
    block = {"type": kind, kind: ""} | ({"signature": ""} if kind == _THINKING else {})
    state.kind, state.index = kind, _begin_block(state, block, out)


def _add(index: int, delta: dict[str, Any], out: Payloads) -> None:
    out.append(json_bytes({"type": "content_block_delta", "index": index, "delta": delta}))


def _stop_block(index: int, out: Payloads) -> None:
    out.append(b'{"type":"content_block_stop","index":%d}' % index)


def _text_start(state: AnthropicState, _envelope: Envelope, event: TextStart, _out: Payloads) -> None:
    state.cut = event.cut is True


def _text(state: AnthropicState, _envelope: Envelope, event: TextDelta, out: Payloads) -> None:
    if not state.cut:
        _show(state, _TEXT, event.delta, out)


def _reasoning(state: AnthropicState, _envelope: Envelope, event: ReasoningDelta, out: Payloads) -> None:
    _show(state, _THINKING, event.delta, out)


def _show(state: AnthropicState, kind: str, text: str, out: Payloads) -> None:
    """Write more text or thinking, in a block of that kind."""
    if state.kind != kind:
        _open_block(state, kind, out)
    out.append(
        b'{"type":"content_block_delta","index":%d,"delta":{"type":"%b_delta","%b":%b}}'
        % (state.index, kind.encode(), kind.encode(), json_bytes(text))
    )


def _end(state: AnthropicState, _envelope: Envelope, _event: TextEnd | ReasoningEnd, out: Payloads) -> None:
    _end_block(state, out)


def _end_block(state: AnthropicState, out: Payloads) -> None:
    if state.kind:
        _stop_block(state.index, out)
        state.kind = ""


# Calls


def _begin_call(state: AnthropicState, envelope: Envelope, event: ToolInputStart, out: Payloads) -> None:
    if state.call is None and envelope.streams_input(by_itself=False):
        index = _begin_use(state, event.id, event.name, out)
        state.call = GrowingCall(event.id, index, GrowingArguments(event.name, event.encoding == "json"))


def _grow(state: AnthropicState, envelope: Envelope, event: ToolInputDelta | ArgumentDelta, out: Payloads) -> None:
    call = state.call
    if call is not None and call.id == event.id and (piece := call.arguments.more(event, envelope)):
        _argue(call.index, piece, out)


def _begin_use(state: AnthropicState, call_id: str, name: str, out: Payloads) -> int:
    _end_block(state, out)
    state.called = True
    return _begin_block(state, {"type": "tool_use", "id": call_id, "name": name, "input": {}}, out)


def _argue(index: int, text: str, out: Payloads) -> None:
    """Write more of a call's arguments."""
    for piece in pieces(text):
        out.append(
            b'{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%b}}'
            % (index, json_bytes(piece))
        )


def _call(state: AnthropicState, _envelope: Envelope, event: ToolCall, out: Payloads) -> None:
    call = state.call
    if call is not None and call.id == event.id:
        state.call = None
        index, text = call.index, call.arguments.rest(event.arguments)
    else:
        index, text = _begin_use(state, event.id, event.name, out), whole(event.arguments)
    _argue(index, text, out)
    _stop_block(index, out)


# All else


def _part(state: AnthropicState, _envelope: Envelope, event: Part, out: Payloads) -> None:
    """Write parts that this shape has a place for: signatures and redacted thinking, citations, refusals."""
    value = event.value
    if isinstance(value, str) and (show := _TEXTS.get(event.kind)) is not None:
        show(state, value, out)
    elif event.kind == "citation" and isinstance(value, dict) and state.kind == _TEXT:
        _add(state.index, {"type": "citations_delta", "citation": value}, out)


def _sign(state: AnthropicState, signature: str, out: Payloads) -> None:
    if not signature:
        return
    if state.kind != _THINKING:
        _open_block(state, _THINKING, out)
    _add(state.index, {"type": "signature_delta", "signature": signature}, out)
    _end_block(state, out)


def _redacted(state: AnthropicState, data: str, out: Payloads) -> None:
    _end_block(state, out)
    _stop_block(_begin_block(state, {"type": "redacted_thinking", "data": data}, out), out)


def _refuse(state: AnthropicState, text: str, out: Payloads) -> None:
    _show(state, _TEXT, text, out)


_TEXTS: Mapping[str, Callable[[AnthropicState, str, Payloads], None]] = {
    "signature": _sign,
    "redacted_thinking": _redacted,
    "refusal": _refuse,
}
"""Parts that are texts, by their kind."""


def _error(state: AnthropicState, _envelope: Envelope, event: Error, out: Payloads) -> None:
    if event.code == "upstream":
        state.failure = event.message
    call = state.call
    if call is not None and voids(event, call.id):
        state.call = None
        _argue(call.index, call.arguments.broken(), out)
        _stop_block(call.index, out)


def _finish(state: AnthropicState, _envelope: Envelope, event: Finish, out: Payloads) -> None:
    _end_block(state, out)
    if event.reason not in STOP_REASONS:
        out.append(_failed(event.reason, failure_text(event.reason, state.failure)))
        return
    counts = tokens(event.usage) if event.usage is not UNSET else tokens({})
    usage: dict[str, Any] = {
        "input_tokens": counts.input - counts.cached - counts.cache_written,
        "output_tokens": counts.output,
    }
    if counts.cached or counts.cache_written:
        usage |= {"cache_read_input_tokens": counts.cached, "cache_creation_input_tokens": counts.cache_written}
    if counts.reasoning:
        usage["output_tokens_details"] = {"thinking_tokens": counts.reasoning}
    out.append(json_bytes({"type": "message_delta", "delta": _why(state, event), "usage": usage}))
    out.append(b'{"type":"message_stop"}')


def _why(state: AnthropicState, event: Finish) -> dict[str, Any]:
    """Return why the answer stops, and at which text. A call takes precedence over the provider's words: see
    `_RAW_REASONS`. Without one, calls are no reason: a client has nothing to run.
    """
    known = "stop" if event.reason == "tool-calls" and not state.called else event.reason
    reason, said = STOP_REASONS[known], None
    if known == "stop" and event.stop_sequence is not UNSET:
        reason, said = "stop_sequence", event.stop_sequence
    elif known != "tool-calls" and event.raw_reason in _RAW_REASONS:
        reason = str(event.raw_reason)
    return {"stop_reason": reason, "stop_sequence": said}


def _failed(reason: FinishReason, message: str) -> bytes:
    error = {"type": _ERROR_TYPES.get(reason, _ERROR_TYPE), "message": message}
    return json_bytes({"type": "error", "error": error})


def _lost(event: Event) -> Payloads:
    """Return the payloads for a message whose state is gone: what happened, which ends its stream."""
    return [_failed("error", event.message)] if isinstance(event, Error) else []


_HANDLERS: Handlers[AnthropicState] = {
    MessageStart: _start,
    TextStart: _text_start,
    TextDelta: _text,
    TextEnd: _end,
    ReasoningDelta: _reasoning,
    ReasoningEnd: _end,
    ToolInputStart: _begin_call,
    ToolInputDelta: _grow,
    ArgumentDelta: _grow,
    ToolCall: _call,
    Part: _part,
    Error: _error,
    Finish: _finish,
}
"""The handler of each event; the others change nothing: a block begins with its first delta."""

ANTHROPIC = AnthropicDialect()
