"""Dialect `openai_responses`: the events of a stream of OpenAI's Responses API.

1. A payload is the data of one server-sent event; the `event:` line is its `type`. `sequence_number` counts from 0
   without a gap.
2. `response.created` comes first. The last event is `response.completed`; `response.incomplete` if the model was cut
   short, filtered or cancelled; `response.failed` if the provider failed or the message timed out; `error` where the
   state of the message was lost.
3. Blocks of text, refusal and reasoning, and calls are items, numbered in the order in which they begin. Calls may grow
   side by side. A call that breaks off ends as an item with the status `incomplete`, whose arguments are not JSON. The
   response has no such item at its end: SDKs read the arguments of all items there as JSON, and clients send them back.
   Calls of custom tools come whole, and none of them is broken: see `custom_tools`.
4. A tool's answer is an item `function_call_output`, if it comes before the end of the response.
5. A signature ends its item of reasoning, as a client sends both back together; an item that gets two has none.
6. The shape repeats everything: in the item when it ends, in the response when that ends. What is repeated is bounded
   by `KEPT_BYTES`. Content beyond it is only in the deltas, and the response's metadata have `tm-truncated`.
7. The request's content is not known here: the response has the API's defaults in its place.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import UNSET

from tokenmill.dialects.custom_tools import input_of, is_custom
from tokenmill.dialects.dialect import Dialect, Envelope, Handlers, Payloads, failure_text, voids
from tokenmill.dialects.json_text import json_bytes, pieces
from tokenmill.dialects.responses_items import (
    ARGUMENTS_DELTA,
    ENDS,
    INPUT_DELTA,
    KEPT_BYTES,
    REASONING,
    REFUSAL,
    TEXT,
    Items,
    Json,
    Kind,
    OpenBlock,
    OpenCall,
    part_of,
    usage_of,
)
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
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputStart,
    ToolResult,
)

LAST = 2**53 - 1
"""The sequence number of an `error` where the state is lost, and with it the count: after all others."""


class ResponsesState(msgspec.Struct, array_like=True, gc=False):
    """What has begun, and what must be repeated."""

    model: str = ""
    sequence: int = 0
    """Number of the next event."""
    items: Items = msgspec.field(default_factory=Items)
    failure: str = ""
    """The provider's words when it failed."""
    cut: bool = False
    """Whether the block of text belongs to a call that was cut off."""

    @property
    def memory(self) -> int:
        """About how many bytes it takes."""
        return self.items.memory


class ResponsesDialect(Dialect):
    """Writes items of text, reasoning and function calls."""

    name = "openai_responses"
    summary = "events of a stream of OpenAI's Responses API; the event name of each is its type"
    state_type = ResponsesState
    streams_tool_input = True
    streams_arguments = True
    names_events = True
    tells_gaps = "never"

    def encode(
        self, state: ResponsesState | None, envelope: Envelope, event: Event, _seq: int | None, time: int
    ) -> Sequence[bytes]:
        """Return the payloads of one event."""
        if state is None:
            return _lost(event)
        out: Payloads = []
        if (handle := _HANDLERS.get(event.__class__)) is not None:  # as `handled` does, without the cost of a call
            handle(state, envelope, event, out)
        elif isinstance(event, Finish):
            _finish(state, envelope, event, time, out)
        return out


def _say(state: ResponsesState, kind: str, fields: Json, out: Payloads) -> None:
    """Write one event, numbered."""
    out.append(json_bytes({"type": f"response.{kind}", **fields, "sequence_number": state.sequence}))
    state.sequence += 1


def _response(state: ResponsesState, envelope: Envelope, status: str, further: Json) -> msgspec.Raw:
    """Return the response with all items that have ended."""
    return state.items.within(_own(envelope.choice_id, envelope.created, state.model, status) | further)


def _own(response_id: str, created_ms: int, model: str, status: str) -> Json:
    """Return the members that do not repeat the request, for a response without an end."""
    return {
        "id": response_id,
        "object": "response",
        "created_at": created_ms // 1000,
        "status": status,
        "model": model,
        "error": None,
        "incomplete_details": None,
        "usage": None,
        "completed_at": None,
    }


def unbegun_response(response_id: str, created_ms: int, model: str, status: str) -> bytes:
    """Return the response to a request that no caller has taken yet."""
    return bytes(Items().within(_own(response_id, created_ms, model, status)))


def _start(state: ResponsesState, envelope: Envelope, event: MessageStart, out: Payloads) -> None:
    who = f"{envelope.conversation_id}/{envelope.message_id}/{envelope.choice}"
    state.items.base = blake2b(who.encode(errors="replace"), digest_size=8).hexdigest()
    state.items.cap = min(KEPT_BYTES, envelope.payload_bytes * 3 // 4)
    state.model = event.model
    for kind in ("created", "in_progress"):
        _say(state, kind, {"response": _response(state, envelope, "in_progress", {})}, out)


# Items of text


def _text_start(state: ResponsesState, _envelope: Envelope, event: TextStart, _out: Payloads) -> None:
    state.cut = event.cut is True


def _text(state: ResponsesState, _envelope: Envelope, event: TextDelta, out: Payloads) -> None:
    if not state.cut:
        _show(state, TEXT, event.delta, out)


def _reasoning(state: ResponsesState, _envelope: Envelope, event: ReasoningDelta, out: Payloads) -> None:
    _show(state, REASONING, event.delta, out)


def _show(state: ResponsesState, kind: Kind, text: str, out: Payloads) -> None:
    """Write more of a text, in an item of that kind."""
    items, delta = state.items, json_bytes(text)
    block = items.block
    if block is None or block.part != kind.part or block.encrypted:
        block = _begin_block(state, kind, out)
    block.keep(text, len(delta), items.room)
    out.append(kind.delta % (block.id.encode(), block.index, delta, state.sequence))
    state.sequence += 1


def _begin_block(state: ResponsesState, kind: Kind, out: Payloads) -> OpenBlock:
    _end_block(state, out)
    block = state.items.begin_block(kind)
    added = {"output_index": block.index, "item": block.item("in_progress", [])}
    _say(state, "output_item.added", added, out)
    _say(state, "content_part.added", block.place | {"part": part_of(kind, "")}, out)
    return block


def _end(state: ResponsesState, _envelope: Envelope, _event: TextEnd | ReasoningEnd, out: Payloads) -> None:
    _end_block(state, out)


def _end_block(state: ResponsesState, out: Payloads) -> None:
    items, block = state.items, state.items.block
    if block is None:
        return
    items.block = None
    items.truncated = items.truncated or block.full
    kind, text = block.kind, block.said.text()
    part, logprobs = part_of(kind, text), {"logprobs": list[Any]()} if kind is TEXT else {}
    _say(state, f"{kind.part}.done", block.place | {kind.field: text} | logprobs, out)
    _say(state, "content_part.done", block.place | {"part": part}, out)
    _end_item(state, block.index, block.item("completed", [part]), out)


def _end_item(state: ResponsesState, index: int, item: Json, out: Payloads) -> None:
    encoded = state.items.end(index, item)
    _say(state, "output_item.done", {"output_index": index, "item": msgspec.Raw(encoded)}, out)


# Calls


def _begin_call(state: ResponsesState, envelope: Envelope, event: ToolInputStart, out: Payloads) -> None:
    if envelope.streams_input(by_itself=True) and not is_custom(envelope, event.name):
        _open_call(state, event.id, event.name, json=event.encoding == "json", out=out)


def _open_call(state: ResponsesState, call_id: str, name: str, *, json: bool, out: Payloads) -> OpenCall:
    _end_block(state, out)
    call = state.items.begin_call(call_id, name, json=json)
    _say(state, "output_item.added", {"output_index": call.index, "item": call.item("in_progress", "")}, out)
    return call


def _grow(state: ResponsesState, envelope: Envelope, event: ToolInputDelta | ArgumentDelta, out: Payloads) -> None:
    call = state.items.calls.get(event.id)
    if call is not None and (piece := call.arguments.more(event, envelope)):
        _give(state, ARGUMENTS_DELTA, (call.id, call.index), piece, out)


def _give(state: ResponsesState, delta: bytes, place: tuple[str, int], text: str, out: Payloads) -> None:
    """Write more of what a call's tool gets, in the item of this id and index."""
    item_id, index = place
    for piece in pieces(text):
        out.append(delta % (item_id.encode(), index, json_bytes(piece), state.sequence))
        state.sequence += 1


def _call(state: ResponsesState, envelope: Envelope, event: ToolCall, out: Payloads) -> None:
    if is_custom(envelope, event.name):
        _custom_call(state, event, out)
        return
    call = state.items.calls.get(event.id) or _open_call(state, event.id, event.name, json=False, out=out)
    _end_call(state, call, call.arguments.rest(event.arguments), "completed", out)


def _end_call(state: ResponsesState, call: OpenCall, rest: str, status: str, out: Payloads) -> None:
    _give(state, ARGUMENTS_DELTA, (call.id, call.index), rest, out)
    del state.items.calls[call.call_id]
    arguments = _said_again(state, call.arguments.sent.text() + rest)
    done = call.place | {"name": call.arguments.name, "arguments": arguments}
    _say(state, "function_call_arguments.done", done, out)
    item = call.item(status, arguments)
    if status == "completed":
        _end_item(state, call.index, item, out)
    else:
        _say(state, "output_item.done", {"output_index": call.index, "item": item}, out)


def _custom_call(state: ResponsesState, event: ToolCall, out: Payloads) -> None:
    _end_block(state, out)
    index, item = state.items.custom_call(event.id, event.name)
    place = {"item_id": item["id"], "output_index": index}
    _say(state, "output_item.added", {"output_index": index, "item": item}, out)
    text = input_of(event.arguments)
    _give(state, INPUT_DELTA, (item["id"], index), text, out)
    text = _said_again(state, text)
    _say(state, "custom_tool_call_input.done", place | {"input": text}, out)
    _end_item(state, index, item | {"status": "completed", "input": text}, out)


def _said_again(state: ResponsesState, given: str) -> str:
    """Return what a call's tool gets, or nothing of it where it is too long to repeat: cut short it would be wrong."""
    if len(json_bytes(given)) <= state.items.cap:
        return given
    state.items.truncated = True
    return ""


def _result(state: ResponsesState, _envelope: Envelope, event: ToolResult, out: Payloads) -> None:
    index, item = state.items.output_of(event.id, result_text(event))
    begun = {**item, "output": "", "status": "in_progress"}
    _say(state, "output_item.added", {"output_index": index, "item": begun}, out)
    _end_item(state, index, item, out)


# All else


def _part(state: ResponsesState, _envelope: Envelope, event: Part, out: Payloads) -> None:
    """Write parts that this shape has a place for: refusals, and what must come back with reasoning."""
    block, value = state.items.block, event.value
    if not isinstance(value, str):
        return
    if event.kind == "refusal":
        _show(state, REFUSAL, value, out)
    elif block is not None:
        block.keep_beside(event.kind, value)


def _error(state: ResponsesState, _envelope: Envelope, event: Error, out: Payloads) -> None:
    if event.code == "upstream":
        state.failure = event.message
    call = state.items.calls.get(event.id) if isinstance(event.id, str) else None
    if call is not None and voids(event, call.call_id):
        _end_call(state, call, call.arguments.broken(), "incomplete", out)


def _finish(state: ResponsesState, envelope: Envelope, event: Finish, time: int, out: Payloads) -> None:
    _end_block(state, out)
    kind, fields = ENDS.get(event.reason, ("failed", {}))
    if kind == "completed":
        fields = {"completed_at": time // 1000}
    elif kind == "failed":
        fields = {"error": {"code": "server_error", "message": failure_text(event.reason, state.failure)}}
    if event.usage is not UNSET:
        fields = fields | {"usage": usage_of(event.usage)}
    _say(state, kind, {"response": _response(state, envelope, kind, fields)}, out)


def _lost(event: Event) -> Payloads:
    """Return the payloads for a message whose state is gone: what happened, which ends its stream."""
    if not isinstance(event, Error):
        return []
    fields = {"code": "server_error", "message": event.message, "param": None, "sequence_number": LAST}
    return [json_bytes({"type": "error", **fields})]


_HANDLERS: Handlers[ResponsesState] = {
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
    ToolResult: _result,
    Part: _part,
    Error: _error,
}
"""The handler of each event but the last; the others change nothing: a block begins with its first delta."""

OPENAI_RESPONSES = ResponsesDialect()
