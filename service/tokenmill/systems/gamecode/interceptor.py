"""Dialect `interceptor`: the text that a chat shows, and the calls that are hidden from it.

1. Text is `narrative`. Reasoning, which its clients do not support, is left out.
2. A call is one `tool_call` with its text: the source where that is the whole call, otherwise an object with `tool` and
   `params` around the arguments as the model wrote them. Arguments that are not written as JSON come from the complete
   call.
3. A call that the stream cut off is a `tool_call` with its text so far, marked `incomplete`, and is never executed. One
   that failed for another reason is `narrative`.
4. Under `text_mode` `placeholder` calls are not shown: the text already contains a placeholder for them.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from tokenmill.dialects.dialect import Dialect, Envelope, warns
from tokenmill.dialects.json_text import json_bytes
from tokenmill.events import (
    Encoding,
    Error,
    Event,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputStart,
)
from tokenmill.parser.run.state import PIECE_BYTES, Source


class Shown(msgspec.Struct, array_like=True, gc=False):
    """The text of an open call so far."""

    id: str
    encoding: Encoding
    source: Source = msgspec.field(default_factory=Source)


class InterceptorState(msgspec.Struct, array_like=True, gc=False):
    """What is kept from one event to the next."""

    calls: list[Shown] = []
    cut_off: bool = False
    """Whether the last call was cut off by the end of the stream."""
    incomplete: Source | None = None
    """The text of that call so far; None outside it."""

    @property
    def memory(self) -> int:
        """About how many bytes it takes."""
        texts = [call.source for call in self.calls] + ([self.incomplete] if self.incomplete is not None else [])
        return sum(PIECE_BYTES + text.memory for text in texts)


class InterceptorDialect(Dialect):
    """Narrative and calls, kept apart."""

    name = "interceptor"
    summary = "what a chat shows (narrative), and calls, which it hides, each with its text (tool_call)"
    state_type = InterceptorState
    streams_tool_input = True
    ignores_pieces = True

    def encode(
        self, state: InterceptorState | None, envelope: Envelope, event: Event, _seq: int | None, _time: int
    ) -> Sequence[bytes]:
        """Return the tokens of one event."""
        state = state or InterceptorState()
        if isinstance(event, ToolCall):
            source = _source(_take(state, event.id), event)
            return () if envelope.request.text_mode == "placeholder" else (_token("tool_call", text=source),)
        if isinstance(event, TextStart | TextDelta | TextEnd):
            return _text(state, event)
        _note(state, event)
        return ()


def _text(state: InterceptorState, event: TextStart | TextDelta | TextEnd) -> Sequence[bytes]:
    """Return narrative, or keep the text of the call that was cut off until it is complete."""
    if isinstance(event, TextStart):
        state.incomplete = Source() if state.cut_off and event.call is not UNSET else None
    elif isinstance(event, TextDelta):
        if state.incomplete is None:
            return (_token("narrative", text=event.delta),)
        state.incomplete.add(event.delta)
    elif state.incomplete is not None:
        text, state.incomplete, state.cut_off = state.incomplete.text(), None, False
        return (_token("tool_call", text=text, incomplete=True),)
    return ()


def _note(state: InterceptorState, event: Event) -> None:
    """Keep what comes of calls before they are complete, or fail."""
    if isinstance(event, ToolInputStart):
        state.calls.append(Shown(event.id, event.encoding))
    elif isinstance(event, ToolInputDelta):
        for call in state.calls:
            if call.id == event.id:
                call.source.add(event.delta)
    elif isinstance(event, Error):
        state.cut_off = event.code == "unfinished-call"
        if not warns(event):
            _take(state, event.id)


def _take(state: InterceptorState, call_id: Any) -> Shown | None:
    """Return the call of that id, which has ended."""
    for call in state.calls:
        if call.id == call_id:
            state.calls.remove(call)
            return call
    return None


def _source(call: Shown | None, event: ToolCall) -> str:
    """Return the text of a complete call."""
    source = call.source.text() if call else ""
    if call and call.encoding == "text" and source.startswith("{"):
        return source
    name = json_bytes(event.name).decode()
    arguments = source if call and call.encoding == "json" and source else json_bytes(event.arguments).decode()
    return f'{{"tool": {name}, "params": {arguments}}}'


def _token(kind: str, **fields: Any) -> bytes:
    return json_bytes({"type": kind, **fields})


INTERCEPTOR = InterceptorDialect()
