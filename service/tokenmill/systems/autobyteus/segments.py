"""Dialect `segments`: an answer cut into typed segments, each with a start, content and an end.

1. A segment is `SEGMENT_START`, any number of `SEGMENT_CONTENT`, `SEGMENT_END`. Kinds are `text`, `tool_call`,
   `write_file`, `patch_file`, `run_bash`, `reasoning` and `media`.
2. The id of a call's segment is that of the call, in every topic. The other ids are `seg_` and the number of their
   start, after `id_prefix`.
3. The content of `write_file`, `patch_file` and `run_bash` is their long argument, decoded. That of `tool_call` is the
   source of the call as the model writes it.
4. The start of a segment with a path waits for the path; earlier content is kept until then.
5. Text ends where a call begins in it. A provider's own calls come beside the text. It stays open, and all ends come at
   the end: text first, then calls, then reasoning, as the provider does not mark where they are complete.
6. A call that fails ends its segment, then comes an `ERROR`. Its source is not shown again as text, unless nothing of
   it was shown. A JSON text that never named a tool still is a `tool_call`.
7. The outcome of a call is `TOOL_EXECUTION_SUCCEEDED` or `TOOL_EXECUTION_FAILED`, with the id of its segment.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from tokenmill.dialects.arguments import whole
from tokenmill.dialects.dialect import Dialect, Envelope, Handlers, Payloads, handled, warns
from tokenmill.dialects.json_text import json_bytes, pieces
from tokenmill.events import (
    ArgumentDelta,
    Error,
    Event,
    Finish,
    Part,
    ReasoningDelta,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputStart,
    ToolResult,
)
from tokenmill.parser.run.state import PIECE_BYTES, WIDE


class CallSegment(msgspec.Struct, array_like=True, gc=False):
    """The segment of a call that has not ended."""

    id: str
    kind: str
    name: str
    """Name of the tool."""
    metadata: str
    """Metadata as JSON, like `arguments`: a snapshot can't hold every number that JSON allows."""
    provider: bool = False
    shown: bool = False
    """Whether its start was sent."""
    waits: bool = False
    """Whether its start waits for the path."""
    path: str = ""
    waiting: list[str] = []
    """Content before the path: at most that of a call."""
    sent: bool = False
    """Whether some of its content is sent, or waits."""
    arguments: str = ""
    """Arguments of a provider's call that is complete and waits for the end."""

    @property
    def memory(self) -> int:
        """About how many bytes it takes."""
        texts = [self.id, self.name, self.metadata, self.path, self.arguments, *self.waiting]
        return sum(PIECE_BYTES + len(text) * (1 if text.isascii() else WIDE) for text in texts)


class SegmentsState(msgspec.Struct, array_like=True, gc=False):
    """The segments that have begun and not ended."""

    started: int = 0
    """Number of segments so far."""
    text: str = ""
    """Id of the open text; empty if there is none."""
    reasoning: str = ""
    calls: dict[str, CallSegment] = {}
    """Segments by the call's id, in order of their beginnings."""
    failed: str = ""
    """Id of a failed call that was partly shown."""
    hidden: bool = False
    """The open text block repeats that call."""
    nameless: bool = False
    """The open text block is the source of a call that never had an id."""
    source: str = ""
    """Id of that block's segment, if it is one of its own."""

    @property
    def memory(self) -> int:
        """About how many bytes it takes."""
        return sum(call.memory for call in self.calls.values())


def start(state: SegmentsState, segment: str, kind: str, metadata: dict[str, Any], out: Payloads) -> None:
    """Send the start of a segment."""
    state.started += 1
    payload = {"metadata": metadata} if metadata else {}
    out.append(json_bytes({"type": "SEGMENT_START", "segment_id": segment, "segment_type": kind, "payload": payload}))


def content(segment: str, text: str, out: Payloads) -> None:
    """Send more of a segment; nothing if the text is empty."""
    for piece in pieces(text):
        out.append(json_bytes({"type": "SEGMENT_CONTENT", "segment_id": segment, "payload": {"delta": piece}}))


def end(envelope: Envelope, segment: str, metadata: dict[str, Any], out: Payloads) -> None:
    """Send the end of a segment; its metadata is repeated if the message asks for it."""
    payload = {"metadata": metadata} if metadata and envelope.request.segment_end_metadata else {}
    out.append(json_bytes({"type": "SEGMENT_END", "segment_id": segment, "payload": payload}))


def begin(state: SegmentsState, envelope: Envelope, kind: str, metadata: dict[str, Any], out: Payloads) -> str:
    """Start a segment that is not a call. Return its id."""
    segment = f"{envelope.request.id_prefix}seg_{state.started + 1}"
    start(state, segment, kind, metadata, out)
    return segment


CONTENT_OF = {"write_file": "content", "patch_file": "patch", "run_bash": "command"}
"""The argument that is the content, for each kind that has one."""

PATHED = frozenset({"write_file", "patch_file"})
"""Kinds that name a path."""

MEDIA = frozenset({"audio", "file", "image", "media", "video"})
"""Kinds of parts that become segments."""

_TOOL_CALL = "tool_call"
_JSON = re.compile(r"\s*+\[?+\s*+\{")


class SegmentsDialect(Dialect):
    """Segments as objects of one line each."""

    name = "segments"
    summary = "typed segments: text, tool calls, files, commands and reasoning, each with a start, content and an end"
    state_type = SegmentsState
    streams_tool_input = True
    streams_arguments = True
    ignores_pieces = True
    pieces = (("payload", "delta"),)

    def encode(
        self, state: SegmentsState | None, envelope: Envelope, event: Event, _seq: int | None, _time: int
    ) -> Sequence[bytes]:
        """Return the payloads of one event."""
        return handled(_HANDLERS, SegmentsState() if state is None else state, envelope, event)


# Text, reasoning, parts


def _text_start(state: SegmentsState, _envelope: Envelope, event: TextStart, _out: Payloads) -> None:
    state.hidden = bool(event.call) and event.call == state.failed
    state.nameless = event.call == ""


def _text(state: SegmentsState, envelope: Envelope, event: TextDelta, out: Payloads) -> None:
    if state.hidden:
        return
    if state.nameless:
        state.nameless = False
        if _JSON.match(event.delta):
            _close_text(state, envelope, out)
            state.source = begin(state, envelope, _TOOL_CALL, {}, out)
    if not state.source and not state.text:
        state.text = begin(state, envelope, "text", {}, out)
    content(state.source or state.text, event.delta, out)


def _text_end(state: SegmentsState, envelope: Envelope, _event: TextEnd, out: Payloads) -> None:
    if state.source:
        end(envelope, state.source, {}, out)
    state.hidden, state.nameless, state.source = False, False, ""


def _close_text(state: SegmentsState, envelope: Envelope, out: Payloads) -> None:
    if state.text:
        end(envelope, state.text, {}, out)
        state.text = ""


def _reasoning(state: SegmentsState, envelope: Envelope, event: ReasoningDelta, out: Payloads) -> None:
    if not state.reasoning:
        state.reasoning = begin(state, envelope, "reasoning", {}, out)
    content(state.reasoning, event.delta, out)


def _part(state: SegmentsState, envelope: Envelope, event: Part, out: Payloads) -> None:
    if event.kind in MEDIA:
        metadata = {"kind": event.kind, "value": event.value}
        end(envelope, begin(state, envelope, "media", metadata, out), metadata, out)


# Calls


def _call_start(state: SegmentsState, envelope: Envelope, event: ToolInputStart, out: Payloads) -> None:
    said = {} if event.attributes is UNSET else dict(event.attributes)
    kind = said.pop("type", "") if said else _kind_of(envelope, event.name, provider=event.provider)
    metadata = {"tool_name": event.name} if event.attributes is UNSET else said
    segment = CallSegment(event.id, kind, event.name, whole(metadata), event.provider)
    _open(state, envelope, segment, out)


def _kind_of(envelope: Envelope, tool: str, *, provider: bool) -> str:
    """Return the kind of a call without an explicit one: by its tool. A provider's calls are files or have no special
    kind.
    """
    tools = {envelope.request.segment_tools.get(kind, kind): kind for kind in CONTENT_OF}
    kind = tools.get(tool, _TOOL_CALL)
    return kind if kind in PATHED or not provider else _TOOL_CALL


def _open(state: SegmentsState, envelope: Envelope, segment: CallSegment, out: Payloads) -> None:
    state.calls[segment.id] = segment
    segment.waits = segment.kind in PATHED and "tool_name" in json.loads(segment.metadata)
    if not segment.provider:
        _close_text(state, envelope, out)
    if not segment.waits:
        _show(state, segment, out)


def _show(state: SegmentsState, segment: CallSegment, out: Payloads) -> None:
    """Send the start, with the path if there is one by now, and what waited for it."""
    if segment.shown:
        return
    metadata = json.loads(segment.metadata)
    if segment.waits and segment.path:
        metadata["path"] = segment.path
        segment.metadata = whole(metadata)
    segment.shown, segment.waits = True, False
    start(state, segment.id, segment.kind, metadata, out)
    content(segment.id, "".join(segment.waiting), out)
    segment.waiting = []


def _source(state: SegmentsState, _envelope: Envelope, event: ToolInputDelta, out: Payloads) -> None:
    segment = state.calls.get(event.id)
    if segment is not None and segment.kind == _TOOL_CALL:
        content(segment.id, event.delta, out)


def _argument(state: SegmentsState, _envelope: Envelope, event: ArgumentDelta, out: Payloads) -> None:
    segment = state.calls.get(event.id)
    if segment is None:
        return
    if segment.waits and event.argument == "path":
        segment.path += event.delta
    elif event.argument == CONTENT_OF.get(segment.kind):
        segment.sent = True
        segment.waiting.append(event.delta)
        if segment.path or not segment.waits:
            _show(state, segment, out)
            content(segment.id, "".join(segment.waiting), out)
            segment.waiting = []


def _call(state: SegmentsState, envelope: Envelope, event: ToolCall, out: Payloads) -> None:
    segment = state.calls.get(event.id)
    streamed = segment is not None
    if segment is None:
        kind = _kind_of(envelope, event.name, provider=False)
        segment = CallSegment(event.id, kind, event.name, whole({"tool_name": event.name}))
        _open(state, envelope, segment, out)
    path = event.arguments.get("path")
    segment.path = path if isinstance(path, str) else segment.path
    _show(state, segment, out)
    if segment.kind == _TOOL_CALL:
        text = "" if streamed else whole(event.arguments)
    else:
        value = event.arguments.get(CONTENT_OF[segment.kind], "")
        text = "" if segment.sent else value if isinstance(value, str) else whole(value)
    content(segment.id, text, out)
    segment.arguments = whole(event.arguments)
    if not segment.provider:
        _close_calls(state, envelope, [segment], out)


def _close_calls(state: SegmentsState, envelope: Envelope, segments: Iterable[CallSegment], out: Payloads) -> None:
    for segment in list(segments):
        _show(state, segment, out)
        end(envelope, segment.id, _end_metadata(segment), out)
        del state.calls[segment.id]


def _end_metadata(segment: CallSegment) -> dict[str, Any]:
    if segment.provider and segment.kind in PATHED:
        return {"path": segment.path} if segment.path else {}
    metadata: dict[str, Any] = json.loads(segment.metadata)
    if segment.provider and segment.arguments:
        metadata["arguments"] = json.loads(segment.arguments)
    return metadata


def _result(_state: SegmentsState, envelope: Envelope, event: ToolResult, out: Payloads) -> None:
    who = {"invocation_id": event.id, "tool_name": event.name, "turn_id": envelope.message_id}
    if event.error is not UNSET:
        payload = {"type": "TOOL_EXECUTION_FAILED", "payload": {**who, "error": event.error}}
    else:
        result = None if event.result is UNSET else event.result
        payload = {"type": "TOOL_EXECUTION_SUCCEEDED", "payload": {**who, "result": result}}
    out.append(json_bytes({**payload, "segment_id": event.id}))


# Errors and the end


def _error(state: SegmentsState, envelope: Envelope, event: Error, out: Payloads) -> None:
    segment = state.calls.get(event.id) if isinstance(event.id, str) else None
    if segment is not None and not warns(event):
        if segment.shown or segment.provider or event.code != "unfinished-call":
            state.failed = segment.id
            _show(state, segment, out)
            if not segment.provider:
                _close_calls(state, envelope, [segment], out)
        else:
            del state.calls[segment.id]
    payload = {"code": event.code, "message": event.message}
    about = {} if event.id is UNSET else {"segment_id": event.id}
    if event.name is not UNSET:
        payload["tool_name"] = event.name
    out.append(json_bytes({"type": "ERROR", **about, "payload": payload}))


def _finish(state: SegmentsState, envelope: Envelope, _event: Finish, out: Payloads) -> None:
    _close_text(state, envelope, out)
    _close_calls(state, envelope, state.calls.values(), out)
    if state.reasoning:
        end(envelope, state.reasoning, {}, out)
        state.reasoning = ""


_HANDLERS: Handlers[SegmentsState] = {
    TextStart: _text_start,
    TextDelta: _text,
    TextEnd: _text_end,
    ReasoningDelta: _reasoning,
    Part: _part,
    ToolInputStart: _call_start,
    ToolInputDelta: _source,
    ArgumentDelta: _argument,
    ToolCall: _call,
    ToolResult: _result,
    Error: _error,
    Finish: _finish,
}

SEGMENTS = SegmentsDialect()
