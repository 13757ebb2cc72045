"""Dialect `ai_sdk_ui`: chunks of the AI SDK's UI message stream, version 1, as `useChat` reads them.

1. Only chunks that versions 5 to 7 of the SDK accept: an unknown type is fatal to them. The stream ends with `[DONE]`.
2. Blocks of text and reasoning are parts with the same ids. A tool that was not declared is `dynamic`.
3. Input of tools grows as JSON. A call that breaks off, or has a problem, ends as `tool-input-error`: it is shown and
   not executed. The text of a broken one follows as text.
4. `cancelled` is an `abort`; a failure of the provider and a timeout are an `error` before `finish`.
5. Refusals are a text of their own, signatures are metadata of their reasoning, other content of a provider and errors
   in the middle are `data-…` parts.
6. A tool's answer is the output of its call, if it comes before the end of the message.
7. Counts of tokens are in the metadata of the message.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from tokenmill.dialects.arguments import GrowingArguments
from tokenmill.dialects.dialect import FAILURES, Dialect, Envelope, Handlers, Payloads, failure_text, handled, voids
from tokenmill.dialects.json_text import json_bytes, pieces
from tokenmill.events import (
    ArgumentDelta,
    Error,
    Event,
    Finish,
    MessageStart,
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
from tokenmill.usage import tokens

DONE = b"[DONE]"

PROVIDER = "tokenmill"
"""Provider under which metadata are stored if the message does not name its provider."""

REFUSAL = "refusal"
"""Kind of a part, and id of the text that shows it."""


class AiSdkUiState(msgspec.Struct, array_like=True, gc=False):
    """What has begun and not ended."""

    calls: dict[str, GrowingArguments] = {}
    """Calls whose input grows, by id."""
    problems: dict[str, str] = {}
    """What is wrong with calls that are complete, by id."""
    reasoning: str = ""
    """Id of the open block of reasoning."""
    refused: bool = False
    """Whether a refusal is shown."""
    failure: str = ""
    """The provider's words when it failed."""
    cut: bool = False
    """Whether the block of text belongs to a call that was cut off."""

    @property
    def memory(self) -> int:
        """About how many bytes it takes."""
        return sum(call.memory for call in self.calls.values())


class AiSdkUiDialect(Dialect):
    """Writes parts of a message on a page."""

    name = "ai_sdk_ui"
    summary = "chunks of the AI SDK's UI message stream, the subset that versions 5 to 7 read"
    state_type = AiSdkUiState
    streams_tool_input = True
    streams_arguments = True
    ignores_pieces = True
    pieces = (("delta",), ("inputTextDelta",))
    tells_gaps = "error"

    def encode(
        self, state: AiSdkUiState | None, envelope: Envelope, event: Event, _seq: int | None, _time: int
    ) -> Sequence[bytes]:
        """Return the payloads of one event."""
        if state is None:
            return _lost(event)
        return handled(_HANDLERS, state, envelope, event)


def _say(out: Payloads, kind: str, **fields: Any) -> None:
    """Write one chunk."""
    out.append(json_bytes({"type": kind, **fields}))


def _start(_state: AiSdkUiState, envelope: Envelope, _event: MessageStart, out: Payloads) -> None:
    _say(out, "start", messageId=envelope.choice_id)
    _say(out, "start-step")


# Text and reasoning


def _block(
    state: AiSdkUiState, _envelope: Envelope, event: TextStart | TextEnd | ReasoningStart | ReasoningEnd, out: Payloads
) -> None:
    if isinstance(event, ReasoningStart):
        state.reasoning = event.id
    elif isinstance(event, ReasoningEnd):
        state.reasoning = ""
    elif isinstance(event, TextStart):
        state.cut = event.cut is True
    if not state.cut:
        _say(out, event.type, id=event.id)


def _text(state: AiSdkUiState, _envelope: Envelope, event: TextDelta, out: Payloads) -> None:
    if state.cut:
        return
    out.append(b'{"type":"text-delta","id":%b,"delta":%b}' % (json_bytes(event.id), json_bytes(event.delta)))


def _reasoning(_state: AiSdkUiState, _envelope: Envelope, event: ReasoningDelta, out: Payloads) -> None:
    out.append(b'{"type":"reasoning-delta","id":%b,"delta":%b}' % (json_bytes(event.id), json_bytes(event.delta)))


# Calls


def _tool(envelope: Envelope, call_id: str, name: str) -> dict[str, Any]:
    """Return the fields that all chunks of a call have."""
    return {"toolCallId": call_id, "toolName": name, **_kind(envelope, name)}


def _kind(envelope: Envelope, name: str) -> dict[str, Any]:
    """Return whether a page has a type for the tool."""
    return {} if name in envelope.request.tools else {"dynamic": True}


def _begin(state: AiSdkUiState, envelope: Envelope, event: ToolInputStart, out: Payloads) -> None:
    if envelope.streams_input(by_itself=True):
        state.calls[event.id] = GrowingArguments(event.name, event.encoding == "json")
        _say(out, "tool-input-start", **_tool(envelope, event.id, event.name))


def _grow(state: AiSdkUiState, envelope: Envelope, event: ToolInputDelta | ArgumentDelta, out: Payloads) -> None:
    call = state.calls.get(event.id)
    if call is not None and (piece := call.more(event, envelope)):
        _argue(event.id, piece, out)


def _argue(call_id: str, text: str, out: Payloads) -> None:
    for piece in pieces(text):
        argument = json_bytes(call_id), json_bytes(piece)
        out.append(b'{"type":"tool-input-delta","toolCallId":%b,"inputTextDelta":%b}' % argument)


def _call(state: AiSdkUiState, envelope: Envelope, event: ToolCall, out: Payloads) -> None:
    if (call := state.calls.pop(event.id, None)) is not None:
        _argue(event.id, call.rest(event.arguments), out)
    tool, problem = _tool(envelope, event.id, event.name), state.problems.pop(event.id, None)
    if problem is None:
        _say(out, "tool-input-available", **tool, input=event.arguments)
    else:
        _say(out, "tool-input-error", **tool, input=event.arguments, errorText=problem)


def _error(state: AiSdkUiState, envelope: Envelope, event: Error, out: Payloads) -> None:
    call_id = event.id
    if not isinstance(call_id, str):
        if event.code == "upstream":
            state.failure = event.message
        else:
            _say(out, "data-error", data={"code": event.code, "message": event.message}, transient=True)
    elif not voids(event, call_id):
        state.problems[call_id] = event.message
    elif state.calls.pop(call_id, None) is not None or event.code == "limit":  # one that is too large may have ended
        tool = _tool(envelope, call_id, event.name or "")
        _say(out, "tool-input-error", **tool, input=event.raw or "", errorText=event.message)


def _result(_state: AiSdkUiState, envelope: Envelope, event: ToolResult, out: Payloads) -> None:
    call = {"toolCallId": event.id, **_kind(envelope, event.name)}
    if event.error is not UNSET:
        _say(out, "tool-output-error", **call, errorText=event.error)
    else:
        _say(out, "tool-output-available", **call, output=None if event.result is UNSET else event.result)


# All else


def _part(state: AiSdkUiState, envelope: Envelope, event: Part, out: Payloads) -> None:
    if event.kind == REFUSAL and isinstance(event.value, str):
        if not state.refused:
            _say(out, "text-start", id=REFUSAL)
        state.refused = True
        _say(out, "text-delta", id=REFUSAL, delta=event.value)
    elif event.kind == "signature" and state.reasoning:
        metadata = {envelope.request.provider or PROVIDER: {"signature": event.value}}
        _say(out, "reasoning-delta", id=state.reasoning, delta="", providerMetadata=metadata)
    else:
        named = {"id": event.id} if isinstance(event.id, str) else {}
        _say(out, f"data-{event.kind}", **named, data=event.value)


def _finish(state: AiSdkUiState, _envelope: Envelope, event: Finish, out: Payloads) -> None:
    if state.refused:
        _say(out, "text-end", id=REFUSAL)
    if event.reason == "cancelled":
        _say(out, "abort", reason="cancelled")
    else:
        if event.reason in FAILURES:
            _say(out, "error", errorText=failure_text(event.reason, state.failure))
        _say(out, "finish-step")
        reason = "error" if event.reason in FAILURES else event.reason
        _say(out, "finish", finishReason=reason, **_metadata(event))
    out.append(DONE)


def _metadata(event: Finish) -> dict[str, Any]:
    if event.usage is UNSET:
        return {}
    counts = tokens(event.usage)
    usage = {
        "inputTokens": counts.input,
        "outputTokens": counts.output,
        "totalTokens": counts.total,
        "reasoningTokens": counts.reasoning,
        "cachedInputTokens": counts.cached,
    }
    return {"messageMetadata": {"usage": usage}}


def _lost(event: Event) -> Payloads:
    """Return the payloads for a message whose state is gone: what happened, and the end."""
    if isinstance(event, Error):
        return [json_bytes({"type": "error", "errorText": event.message})]
    return [DONE] if isinstance(event, Finish) else []


_HANDLERS: Handlers[AiSdkUiState] = {
    MessageStart: _start,
    TextStart: _block,
    TextDelta: _text,
    TextEnd: _block,
    ReasoningStart: _block,
    ReasoningDelta: _reasoning,
    ReasoningEnd: _block,
    ToolInputStart: _begin,
    ToolInputDelta: _grow,
    ArgumentDelta: _grow,
    ToolCall: _call,
    ToolResult: _result,
    Part: _part,
    Error: _error,
    Finish: _finish,
}
"""The handler of each event; the others change nothing."""

AI_SDK_UI = AiSdkUiDialect()
