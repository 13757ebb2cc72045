"""Dialect `openai`: the chunks of a streamed chat completion, as the SDKs of OpenAI read them.

1. A payload is the data of one server-sent event; the last is `[DONE]`. The role comes once, with the first chunk that
   has content. Text is without the white space around calls: see `trimming`.
2. A call is a chunk with its id and name, and no arguments yet, then its arguments: whole once the call is complete,
   or, where the message sets `stream_tool_input`, as they grow: see `arguments`. Calls have indexes from 0.
3. A client of this shape can't be told that a call it was shown is void. So arguments grow only where that is asked
   for; the arguments of a call that breaks off are then not valid JSON. Its text follows as content, unless the answer
   was cut off with it.
4. A call of a tool that takes a text, a custom one, is never shown before it is complete: see `custom_tools`.
5. Errors that do not end the answer are not part of this shape. One that does, including a timeout, is an `error` in
   place of the finish chunk.
6. Each choice is rendered separately, with its index. Counts of tokens, in a chunk without choices, follow the choice
   they came for, unless the message is without `include_usage`; each choice gets those of all, where the server counts
   them together. `[DONE]` follows the end of a choice when no other choice of the message is open.
"""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET

from tokenmill.dialects.arguments import GrowingArguments
from tokenmill.dialects.chat_completion import (
    FAILED_CALLS,
    FUNCTION,
    CallShape,
    error_of,
    finish_of,
    head,
    shape_of,
    usage_of,
)
from tokenmill.dialects.dialect import Dialect, Envelope, Handlers, Payloads, handled, voids
from tokenmill.dialects.json_text import json_bytes, pieces
from tokenmill.dialects.said_again import DETAILS, EXTRA, CallExtras, Places
from tokenmill.dialects.trimming import Trimming
from tokenmill.events import (
    ArgumentDelta,
    Error,
    Event,
    Finish,
    Part,
    ReasoningDelta,
    TextDelta,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputStart,
)

DONE = b"[DONE]"


class OpenCall(msgspec.Struct, array_like=True, gc=False):
    """A call whose arguments are growing."""

    index: int
    arguments: GrowingArguments


class OpenAIState(msgspec.Struct, array_like=True, gc=False):
    """What was sent of a choice so far."""

    begun: bool = False
    """Whether the role was sent."""
    trimming: Trimming = msgspec.field(default_factory=Trimming)
    calls: int = 0
    open: dict[str, OpenCall] = {}
    """Calls that grow, by id."""
    failure: Error | None = None
    """The provider's error when it failed."""
    cut: bool = False
    """Whether the block of text belongs to a call that was cut off."""
    extras: CallExtras = msgspec.field(default_factory=CallExtras)
    places: Places = msgspec.field(default_factory=Places)

    @property
    def memory(self) -> int:
        """About how many bytes it takes."""
        return self.extras.size + sum(call.arguments.memory for call in self.open.values())


class OpenAIDialect(Dialect):
    """Writes chunks of a chat completion."""

    name = "openai"
    summary = "the chunks of OpenAI's streamed chat completions, and [DONE]"
    state_type = OpenAIState
    streams_arguments = True
    pieces = (
        ("choices", 0, "delta", "content"),
        ("choices", 0, "delta", "reasoning_content"),
        ("choices", 0, "delta", "tool_calls", 0, "function", "arguments"),
        ("choices", 0, "delta", "tool_calls", 0, "custom", "input"),
    )
    tells_gaps = "never"

    def encode(
        self, state: OpenAIState | None, envelope: Envelope, event: Event, _seq: int | None, _time: int
    ) -> Sequence[bytes]:
        """Return the payloads of one event."""
        if state is None:
            return _lost(envelope, event)
        return handled(_HANDLERS, state, envelope, event)


# Chunks


def _head(envelope: Envelope) -> bytes:
    """Return a chunk up to the value of `choices`."""
    return json_bytes(head(envelope, "chat.completion.chunk"))[:-1] + b',"choices":'


def _choice(envelope: Envelope) -> bytes:
    """Return a chunk up to the members of its choice's `delta`."""
    return envelope.constant("openai", _head) + b'[{"index":%d,"delta":{' % envelope.choice


def _chunk(state: OpenAIState, envelope: Envelope, delta: bytes, out: Payloads, reason: str | None = None) -> None:
    """Write a chunk with this delta, given as the members of a JSON object."""
    if not state.begun:
        state.begun = True
        delta = b'"role":"assistant"' + (b"," + delta if delta else b"")
    finish = b'"%b"' % reason.encode() if reason else b"null"
    out.append(b'%b%b},"finish_reason":%b}]}' % (envelope.constant("openai choice", _choice), delta, finish))


def _text_start(state: OpenAIState, _envelope: Envelope, event: TextStart, _out: Payloads) -> None:
    state.cut = event.cut is True


def _text(state: OpenAIState, envelope: Envelope, event: TextDelta, out: Payloads) -> None:
    if state.cut:
        return
    if text := state.trimming.text(event.delta, tools=bool(envelope.request.tools)):
        _chunk(state, envelope, b'"content":' + json_bytes(text), out)


def _reasoning(state: OpenAIState, envelope: Envelope, event: ReasoningDelta, out: Payloads) -> None:
    _chunk(state, envelope, b'"reasoning_content":' + json_bytes(event.delta), out)


def _part(state: OpenAIState, envelope: Envelope, event: Part, out: Payloads) -> None:
    """Write those parts that this shape has a place for: refusals, and parts that clients send back."""
    if event.kind == "refusal" and isinstance(event.value, str) and event.value:
        _chunk(state, envelope, b'"refusal":' + json_bytes(event.value), out)
    elif event.kind == DETAILS and isinstance(event.value, list):
        if fragments := state.places.numbered(event.value):
            _chunk(state, envelope, b'"reasoning_details":' + json_bytes(fragments), out)
    elif event.kind == EXTRA:
        state.extras.keep(event)


# Calls


def _begin_call(state: OpenAIState, envelope: Envelope, event: ToolInputStart, out: Payloads) -> None:
    if envelope.streams_input(by_itself=False) and shape_of(envelope, event.name) is FUNCTION:
        index = _begin(state, envelope, FUNCTION, event, out)
        state.open[event.id] = OpenCall(index, GrowingArguments(event.name, event.encoding == "json"))


def _grow(state: OpenAIState, envelope: Envelope, event: ToolInputDelta | ArgumentDelta, out: Payloads) -> None:
    call = state.open.get(event.id)
    if call is not None and (piece := call.arguments.more(event, envelope)):
        _argue(state, envelope, FUNCTION, call.index, piece, out)


def _call(state: OpenAIState, envelope: Envelope, event: ToolCall, out: Payloads) -> None:
    call = state.open.pop(event.id, None)
    shape = shape_of(envelope, event.name)
    if call is None:
        index, text = _begin(state, envelope, shape, event, out), shape.given(event.arguments)
    else:
        index, text = call.index, call.arguments.rest(event.arguments)
    _argue(state, envelope, shape, index, text, out)


def _begin(
    state: OpenAIState, envelope: Envelope, shape: CallShape, event: ToolInputStart | ToolCall, out: Payloads
) -> int:
    """Write a call's first chunk; return its index."""
    index = state.calls
    state.calls += 1
    state.trimming.call()
    call = {"index": index, "id": event.id, **shape.said(event.name, ""), **state.extras.of(event.id)}
    _chunk(state, envelope, b'"tool_calls":[%b]' % json_bytes(call), out)
    return index


def _argue(state: OpenAIState, envelope: Envelope, shape: CallShape, index: int, text: str, out: Payloads) -> None:
    """Write more of what a call's tool gets."""
    for piece in pieces(text):
        _chunk(state, envelope, shape.delta % (index, json_bytes(piece)), out)


# Errors and the end


def _error(state: OpenAIState, envelope: Envelope, event: Error, out: Payloads) -> None:
    if event.code == "upstream":
        state.failure = event
    elif event.code in FAILED_CALLS:
        state.trimming.fail()
        call = state.open.get(event.id) if isinstance(event.id, str) else None
        if call is not None and voids(event, str(event.id)):
            del state.open[str(event.id)]
            _argue(state, envelope, FUNCTION, call.index, call.arguments.broken(), out)


def _finish(state: OpenAIState, envelope: Envelope, event: Finish, out: Payloads) -> None:
    if text := state.trimming.end():
        _chunk(state, envelope, b'"content":' + json_bytes(text), out)
    reason = finish_of(event.reason, called=state.calls > 0)
    if reason is None:
        out.append(json_bytes({"error": error_of(envelope, event.reason, state.failure)}))
    else:
        _chunk(state, envelope, b"", out, reason)
        if event.usage is not UNSET and envelope.request.include_usage:
            out.append(envelope.constant("openai", _head) + b'[],"usage":%b}' % json_bytes(usage_of(event.usage)))
    if not event.choices_left:
        out.append(DONE)


def _lost(envelope: Envelope, event: Event) -> Payloads:
    """Return the payloads for a message whose state is gone: what happened, which ends its stream."""
    return [json_bytes({"error": error_of(envelope, "error", event)}), DONE] if isinstance(event, Error) else []


_HANDLERS: Handlers[OpenAIState] = {
    TextStart: _text_start,
    TextDelta: _text,
    ReasoningDelta: _reasoning,
    ToolInputStart: _begin_call,
    ToolInputDelta: _grow,
    ArgumentDelta: _grow,
    ToolCall: _call,
    Part: _part,
    Error: _error,
    Finish: _finish,
}
"""The handler of each event; the others have no place in this shape."""

OPENAI = OpenAIDialect()
