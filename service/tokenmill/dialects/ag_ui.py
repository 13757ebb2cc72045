"""Dialect `ag_ui`: events of the AG-UI protocol, version 1.0. A message is a run; its conversation is the thread.

1. `RUN_STARTED` comes first. `RUN_FINISHED` is the last event, or `RUN_ERROR` if the provider failed, the message timed
   out or its state was lost; an outcome says whether the run was cancelled.
2. Each block of text is a message, each block of reasoning one of its own. Calls belong to the text before them, or to
   the first call where there is none.
3. Arguments grow as JSON. A call that breaks off ends with arguments that are not valid JSON. A `CUSTOM` event
   `tool-call-error` gives the reason; the same event reports a complete call with a problem.
4. Refusals are text, signatures are encrypted values of their reasoning. Other content of a provider and errors in the
   middle are `CUSTOM` events.
5. A tool's answer is a message of the role `tool`, if it comes before the end of the run.
6. Optional fields of the protocol are absent, never null.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from tokenmill.dialects.arguments import GrowingArguments, whole
from tokenmill.dialects.dialect import FAILURES, Dialect, Envelope, Payloads, failure_text, voids
from tokenmill.dialects.json_text import json_bytes, pieces
from tokenmill.dialects.results import result_text
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

VERSION = "1.0"

REFUSAL = "refusal"
"""Kind of a part, and id of the text that shows it."""


class AgUiState(msgspec.Struct, array_like=True, gc=False):
    """What has begun and not ended."""

    model: str = ""
    parent: str = ""
    """Id of the assistant's last message; calls belong to it."""
    reasoning: str = ""
    """Message id of the open block of reasoning."""
    calls: dict[str, GrowingArguments] = {}
    """Calls that grow, by id."""
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


class AgUiDialect(Dialect):
    """Writes runs, messages and tool calls of AG-UI."""

    name = "ag_ui"
    summary = "events of the AG-UI protocol 1.0; a message is a run"
    state_type = AgUiState
    streams_tool_input = True
    streams_arguments = True
    ignores_pieces = True
    pieces = (("delta",),)
    tells_gaps = "error"

    def encode(
        self, state: AgUiState | None, envelope: Envelope, event: Event, _seq: int | None, time: int
    ) -> Sequence[bytes]:
        """Return the payloads of one event."""
        writer = Writer(time)
        if state is None:
            if isinstance(event, Error):
                writer.say("RUN_ERROR", message=event.message, code=event.code)
        elif (handle := _HANDLERS.get(event.__class__)) is not None:
            handle(state, envelope, event, writer)
        return writer.payloads


class Writer(msgspec.Struct):  # faster to create than other objects
    """Writes the events of the protocol for one native event."""

    time: int
    payloads: Payloads = []

    def say(self, kind: str, **fields: Any) -> None:
        """Write one more event of the protocol."""
        self.payloads.append(json_bytes({"type": kind, "timestamp": self.time, **fields}))

    def say_more(self, kind: bytes, owner: bytes, delta: str) -> None:
        """Write one more event of a growing text, nearly all of a stream: `owner` is the rest up to the delta, as
        JSON.
        """
        self.payloads.append(
            b'{"type":"%b","timestamp":%d,%b,"delta":%b}' % (kind, self.time, owner, json_bytes(delta))
        )


def _run(envelope: Envelope) -> dict[str, str]:
    return {"threadId": envelope.conversation_id, "runId": envelope.choice_id}


def _message(envelope: Envelope, block: str) -> str:
    """Return the id of the message that shows a block."""
    return f"{envelope.choice_id}-{block}"


def _start(state: AgUiState, envelope: Envelope, event: MessageStart, writer: Writer) -> None:
    state.model = event.model
    writer.say("RUN_STARTED", **_run(envelope), protocolVersion=VERSION)


def _owner(envelope: Envelope, block: str) -> bytes:
    """Return that id as the member `messageId` of a JSON object."""
    return envelope.constant("ag_ui", _run_owner) + json_bytes(block)[1:]


def _run_owner(envelope: Envelope) -> bytes:
    return b'"messageId":' + json_bytes(_message(envelope, ""))[:-1]


# Text and reasoning


def _text_start(state: AgUiState, envelope: Envelope, event: TextStart, writer: Writer) -> None:
    state.cut = event.cut is True
    if state.cut:
        return
    state.parent = _message(envelope, event.id)
    writer.say("TEXT_MESSAGE_START", messageId=state.parent, role="assistant")


def _text(state: AgUiState, envelope: Envelope, event: TextDelta, writer: Writer) -> None:
    if not state.cut:
        writer.say_more(b"TEXT_MESSAGE_CONTENT", _owner(envelope, event.id), event.delta)


def _text_end(state: AgUiState, envelope: Envelope, event: TextEnd, writer: Writer) -> None:
    if not state.cut:
        writer.say("TEXT_MESSAGE_END", messageId=_message(envelope, event.id))


def _reasoning_start(state: AgUiState, envelope: Envelope, event: ReasoningStart, writer: Writer) -> None:
    state.reasoning, state.parent = _message(envelope, event.id), ""
    writer.say("REASONING_START", messageId=state.reasoning)
    writer.say("REASONING_MESSAGE_START", messageId=state.reasoning, role="reasoning")


def _reasoning(_state: AgUiState, envelope: Envelope, event: ReasoningDelta, writer: Writer) -> None:
    writer.say_more(b"REASONING_MESSAGE_CONTENT", _owner(envelope, event.id), event.delta)


def _reasoning_end(state: AgUiState, _envelope: Envelope, _event: ReasoningEnd, writer: Writer) -> None:
    writer.say("REASONING_MESSAGE_END", messageId=state.reasoning)
    writer.say("REASONING_END", messageId=state.reasoning)
    state.reasoning = ""


# Calls


def _begin(state: AgUiState, envelope: Envelope, event: ToolInputStart, writer: Writer) -> None:
    if envelope.streams_input(by_itself=True):
        state.calls[event.id] = GrowingArguments(event.name, event.encoding == "json")
        _start_call(state, event.id, event.name, writer)


def _start_call(state: AgUiState, call_id: str, name: str, writer: Writer) -> None:
    parent = {"parentMessageId": state.parent} if state.parent else {}
    state.parent = state.parent or call_id
    writer.say("TOOL_CALL_START", toolCallId=call_id, toolCallName=name, **parent)


def _grow(state: AgUiState, envelope: Envelope, event: ToolInputDelta | ArgumentDelta, writer: Writer) -> None:
    call = state.calls.get(event.id)
    if call is not None and (piece := call.more(event, envelope)):
        _argue(event.id, piece, writer)


def _argue(call_id: str, text: str, writer: Writer) -> None:
    for piece in pieces(text):
        writer.say_more(b"TOOL_CALL_ARGS", b'"toolCallId":' + json_bytes(call_id), piece)


def _call(state: AgUiState, _envelope: Envelope, event: ToolCall, writer: Writer) -> None:
    call = state.calls.pop(event.id, None)
    if call is None:
        _start_call(state, event.id, event.name, writer)
    _argue(event.id, call.rest(event.arguments) if call else whole(event.arguments), writer)
    writer.say("TOOL_CALL_END", toolCallId=event.id)


def _result(_state: AgUiState, envelope: Envelope, event: ToolResult, writer: Writer) -> None:
    message = _message(envelope, f"{event.id}-result")
    writer.say("TOOL_CALL_RESULT", messageId=message, toolCallId=event.id, content=result_text(event), role="tool")


def _error(state: AgUiState, _envelope: Envelope, event: Error, writer: Writer) -> None:
    told = {"code": event.code, "message": event.message}
    if event.code == "upstream":
        state.failure = event.message
    elif isinstance(event.id, str):
        if voids(event, event.id) and (call := state.calls.pop(event.id, None)) is not None:
            _argue(event.id, call.broken(), writer)
            writer.say("TOOL_CALL_END", toolCallId=event.id)
        writer.say("CUSTOM", name="tool-call-error", value={"toolCallId": event.id, **told})
    else:
        writer.say("CUSTOM", name="error", value=told)


# All else


def _part(state: AgUiState, envelope: Envelope, event: Part, writer: Writer) -> None:
    if event.kind == REFUSAL and isinstance(event.value, str):
        message = _message(envelope, REFUSAL)
        if not state.refused:
            state.refused, state.parent = True, message
            writer.say("TEXT_MESSAGE_START", messageId=message, role="assistant")
        writer.say("TEXT_MESSAGE_CONTENT", messageId=message, delta=event.value)
    elif event.kind == "signature" and isinstance(event.value, str) and state.reasoning:
        writer.say("REASONING_ENCRYPTED_VALUE", subtype="message", entityId=state.reasoning, encryptedValue=event.value)
    else:
        writer.say("CUSTOM", name=event.kind, value=event.value)


def _finish(state: AgUiState, envelope: Envelope, event: Finish, writer: Writer) -> None:
    if state.refused:
        writer.say("TEXT_MESSAGE_END", messageId=_message(envelope, REFUSAL))
    if event.reason in FAILURES:
        message = failure_text(event.reason, state.failure)
        writer.say("RUN_ERROR", message=message, code=event.reason, **_usage(state, envelope, event))
        return
    writer.say(
        "RUN_FINISHED",
        **_run(envelope),
        result={"finishReason": event.reason},
        outcome={"type": "cancelled" if event.reason == "cancelled" else "success"},
        **_usage(state, envelope, event),
    )


def _usage(state: AgUiState, envelope: Envelope, event: Finish) -> dict[str, Any]:
    if event.usage is UNSET:
        return {}
    counts = tokens(event.usage)
    usage = {
        "inputTokens": counts.input,
        "outputTokens": counts.output,
        "totalTokens": counts.total,
        "reasoningTokens": counts.reasoning,
        "cachedInputTokens": counts.cached,
        "cacheWriteInputTokens": counts.cache_written,
    }
    names = {"provider": envelope.request.provider, "model": state.model}
    return {"usage": [{**{key: name for key, name in names.items() if name}, **usage}]}


_HANDLERS: dict[type[Event], Callable[[AgUiState, Envelope, Any, Writer], None]] = {
    MessageStart: _start,
    TextStart: _text_start,
    TextDelta: _text,
    TextEnd: _text_end,
    ReasoningStart: _reasoning_start,
    ReasoningDelta: _reasoning,
    ReasoningEnd: _reasoning_end,
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

AG_UI = AgUiDialect()
