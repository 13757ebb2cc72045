"""Dialect `agent`: the rows that an agent's page shows while the model still writes, and the whole message at its end.

Rules of this file:

1. Text and reasoning come as they are, in `assistant_streaming_message` and `assistant_streaming_thinking_message`.
   Before the first thing other than reasoning comes an `assistant_thinking_message` with all of the reasoning.
2. Calls are streamed only where the message asks for it (`stream_tool_input` true): an `assistant_streaming_tool_call`
   when the name is known, one for each piece of the arguments as the model writes them, never repaired, and one with
   `isComplete`. A call that fails has no such end.
3. A call in the model's text is complete when its source is. Calls of a provider's own tool stream are all complete
   when the provider reports calls as its reason to finish (`tool_calls`), and not with another reason.
4. With `min_delta_chars` pieces of arguments wait until they have this many characters: by size alone, so that the same
   stream always makes the same rows.
5. At the end come `assistant_message`, if there was text or a call, and a `tool_call` for each call in turn; not for a
   cancelled message. What does not fit is left out and the row is marked `truncated`; a call that does not fit is sent
   immediately.
6. A tool's answer is a `tool_result`, wherever it comes.
7. Ids are derived from the message and the event's position; timestamps are those of the input records.

Rows of the dialect `agent`: their kinds, and their ids.

The common part of all rows of a kind is made into a template once for each message. A row only adds its id, its time
and its content.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import UNSET

from tokenmill.dialects.dialect import Dialect, Envelope, Payloads
from tokenmill.dialects.json_text import json_bytes
from tokenmill.events import (
    Error,
    Event,
    Finish,
    ReasoningDelta,
    TextDelta,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
)
from tokenmill.finish_reasons import finish_reason
from tokenmill.parser.run.state import Source
from tokenmill.systems.tarko.agent_state import WAITING_CHARS, AgentState, Called, Gathered

MADE = 2048
_DIGITS = {seq << 16: b"%012x" % (seq << 16) for seq in range(MADE)}
"""Ends of the ids of most rows, the first of their events, made once: writing one costs a tenth of a row."""


class Row:
    """A kind of row: its type, and the members of its JSON object, with `%b` for the row's own content."""

    __slots__ = ("members", "name", "type")

    def __init__(self, kind: str, members: bytes = b"%b") -> None:
        self.type = kind.encode()
        self.members = members
        self.name = f"agent {kind} {members.decode()}"
        """Name of the template among the envelope's constants."""

    def template(self, envelope: Envelope) -> bytes:
        """Return a row of this message, to be filled with the end of its id, its time and its content."""
        head, message = envelope.constant("agent head", _head), envelope.constant("agent message", _message)
        return b'%b%b","timestamp":%%d,%b,%b}' % (head, self.type, message, self.members)


def _head(envelope: Envelope) -> bytes:
    return b'{"id":"%b%%b","type":"' % id_prefix(envelope)


def _message(envelope: Envelope) -> bytes:
    return b'"messageId":' + message_id(envelope).replace(b"%", b"%%")


STREAMED_TEXT = Row("assistant_streaming_message", b'"content":%b,"isComplete":false')
STREAMED_THOUGHT = Row("assistant_streaming_thinking_message", b'"content":%b,"isComplete":false')
STREAMED_CALL = Row("assistant_streaming_tool_call", b'%b,"isComplete":false')
COMPLETE_CALL = Row("assistant_streaming_tool_call", b'%b"","isComplete":true')
THOUGHT = Row("assistant_thinking_message")
MESSAGE = Row("assistant_message")
TOOL_CALL = Row("tool_call")
TOOL_RESULT = Row("tool_result")
ERROR = Row("error")


class Rows(msgspec.Struct):  # faster to create than other objects
    """The rows of one event."""

    state: AgentState
    envelope: Envelope
    first: int
    """Number of the first row, as in its id."""
    time: int
    payloads: Payloads = []

    def add(self, row: Row, own: bytes) -> None:
        """Add a row with its content."""
        payloads = self.payloads
        number = self.first + len(payloads)
        digits = _DIGITS.get(number) or b"%012x" % number
        payloads.append(self.envelope.constant(row.name, row.template) % (digits, self.time, own))

    def add_object(self, row: Row, **fields: Any) -> None:
        """Add a row with these members as its content."""
        self.add(row, json_bytes(fields)[1:-1])


def message_id(envelope: Envelope) -> bytes:
    """Return the id of the message, and of the choice if it has several, as JSON."""
    return json_bytes(f"{envelope.message_id}/{envelope.choice}" if envelope.choice else envelope.message_id)


def id_prefix(envelope: Envelope) -> bytes:
    """Return the part of a UUID (version 8: self-made) that all rows of a message share."""
    who = f"{envelope.conversation_id}\n{envelope.message_id}\n{envelope.choice}"
    digest = blake2b(who.encode(errors="replace"), digest_size=9).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-8{digest[12:15]}-a{digest[15:18]}-".encode()


_NO_SEQ = (1 << 32) - 1
"""Number in ids of rows about a message whose state is gone."""

PLAIN = "plain"
"""The format without calls of its own: all calls are the provider's."""

_REASONS = {"tool-calls": "tool_calls", "content-filter": "content_filter"}


class AgentDialect(Dialect):
    """Rows for a page that follows an agent, and for the agent itself."""

    name = "agent"
    summary = "an agent's rows: streamed text, reasoning and calls, then the whole message and its calls"
    state_type = AgentState
    describes_tools = True
    keep_s = 3600

    def encode(
        self, state: AgentState | None, envelope: Envelope, event: Event, seq: int | None, time: int
    ) -> Sequence[bytes]:
        """Return the rows of one event."""
        render = _RENDERERS.get(event.__class__)
        if render is None:
            return ()
        number = (_NO_SEQ if seq is None else seq) << 16
        rows = Rows(AgentState() if state is None else state, envelope, number, time)
        render(rows, event)
        return rows.payloads


def _text_start(rows: Rows, event: TextStart) -> None:
    rows.state.cut = event.cut is True


def _text(rows: Rows, event: TextDelta) -> None:
    state = rows.state
    if state.cut:
        return
    if state.thinking_since >= 0:
        _end_thinking(rows)
    content = json_bytes(event.delta)
    state.answer.add(event.delta, len(content))
    rows.add(STREAMED_TEXT, content)


def _reasoning(rows: Rows, event: ReasoningDelta) -> None:
    state = rows.state
    if state.thinking_since < 0:
        state.thinking_since = rows.time
    content = json_bytes(event.delta)
    state.thought.add(event.delta, len(content))
    rows.add(STREAMED_THOUGHT, content)


def _end_thinking(rows: Rows) -> None:
    """End the reasoning: what follows is something else, and all of it so far is repeated."""
    state = rows.state
    if state.thinking_since < 0:
        return
    thought, since = state.thought, state.thinking_since
    state.thought, state.thinking_since = Gathered(), -1
    rows.add_object(
        THOUGHT,
        content=thought.text(),
        isComplete=True,
        thinkingDurationMs=max(0, rows.time - since),
        **_truncated(cut=thought.cut),
    )


# Calls


def _started(rows: Rows, event: ToolInputStart) -> None:
    _end_thinking(rows)
    provider = event.provider or rows.envelope.format == PLAIN
    rows.state.calls.append(Called(event.id, event.name, rows.time, provider))
    if _streams(rows):
        _piece(rows, rows.state.calls[-1], "")


def _grown(rows: Rows, event: ToolInputDelta) -> None:
    call = rows.state.call(event.id)
    if call is None or not _streams(rows):
        return
    least = rows.envelope.request.min_delta_chars
    if not call.waiting.size and len(event.delta) >= least:
        _piece(rows, call, event.delta)
        return
    call.waiting.add(event.delta)
    if call.waiting.size >= min(least, WAITING_CHARS):
        _flush(rows, call)


def _flush(rows: Rows, call: Called) -> None:
    if call.waiting.size:
        _piece(rows, call, call.waiting.text())
        call.waiting = Source()


def _ended(rows: Rows, event: ToolInputEnd) -> None:
    call = rows.state.call(event.id)
    if call is not None:
        _flush(rows, call)


def _called(rows: Rows, event: ToolCall) -> None:
    _end_thinking(rows)
    state = rows.state
    call = state.call(event.id)
    if call is None:  # tool input is not streamed at all
        call = Called(event.id, event.name, rows.time, provider=rows.envelope.format == PLAIN)
        state.calls.append(call)
    call.complete, call.unknown = True, event.problem == "unknown-tool"
    arguments = json_bytes(event.arguments)
    if _streams(rows) and not call.provider:
        rows.add(COMPLETE_CALL, call.who)
    if state.answer.charge(2 * len(arguments)):  # as a string inside JSON, quotes are escaped once more
        call.arguments = arguments.decode()
    else:
        _tool_call(rows, call, event.arguments)
        state.calls.remove(call)


def _streams(rows: Rows) -> bool:
    return rows.envelope.streams_input(by_itself=False)


def _piece(rows: Rows, call: Called, delta: str) -> None:
    rows.add(STREAMED_CALL, call.who + json_bytes(delta))


def _tool_call(rows: Rows, call: Called, arguments: Mapping[str, Any]) -> None:
    rows.add_object(
        TOOL_CALL,
        toolCallId=call.id,
        name=call.name,
        arguments=arguments,
        startTime=call.time,
        tool=call.tool(rows.envelope.request.tools),
    )


# The end


def _failed(rows: Rows, event: Error) -> None:
    said = {"toolCallId": event.id, "toolName": event.name, "raw": event.raw}
    known = {key: value for key, value in said.items() if value is not UNSET}
    rows.add_object(ERROR, code=event.code, message=event.message, **known)


def _finished(rows: Rows, event: Finish) -> None:
    state = rows.state
    if event.reason != "stop":  # a plain stop may be a stream that just stopped, in the middle of its reasoning
        _end_thinking(rows)
    calls = [call for call in state.calls if call.complete]
    raw = "" if event.raw_reason is UNSET else event.raw_reason
    if _streams(rows) and finish_reason(raw, called=False) == "tool-calls":
        for call in calls:
            if call.provider:
                rows.add(COMPLETE_CALL, call.who)
    if event.reason == "cancelled":
        return
    _complete(rows, calls, _reason(event, calls))
    for call in calls:
        _tool_call(rows, call, json.loads(call.arguments))
    state.finished = True


def _complete(rows: Rows, calls: Sequence[Called], reason: str) -> None:
    """Add the whole answer, if there is one; without its content if that was too large to be written."""
    answer, again = rows.state.answer, rows.state.finished
    content = "" if again else answer.text()
    shown = [] if again else [_openai_call(call) for call in calls]
    if not (answer.bytes or calls or answer.cut):
        return
    rows.add_object(
        MESSAGE,
        content=content,
        rawContent="",
        **({"toolCalls": shown} if shown else {}),
        finishReason=reason,
        **_truncated(cut=again or answer.cut),
    )


def _openai_call(call: Called) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _reason(event: Finish, calls: Sequence[Called]) -> str:
    """Return why it ended: the provider's own word where the calls are its own, else also that there were calls."""
    if event.raw_reason is not UNSET and any(call.provider for call in calls):
        return event.raw_reason
    return _REASONS.get(event.reason, event.reason)


def _truncated(*, cut: bool) -> dict[str, bool]:
    return {"truncated": True} if cut else {}


def _answered(rows: Rows, event: ToolResult) -> None:
    failed = event.error is not UNSET
    content = f"Error: {event.error}" if failed else None if event.result is UNSET else event.result
    error = {"error": event.error} if failed else {}
    rows.add_object(
        TOOL_RESULT, toolCallId=event.id, name=event.name, content=content, elapsedMs=event.elapsed_ms, **error
    )


_RENDERERS: dict[type[Event], Callable[[Rows, Any], None]] = {
    TextStart: _text_start,
    TextDelta: _text,
    ReasoningDelta: _reasoning,
    ToolInputStart: _started,
    ToolInputDelta: _grown,
    ToolInputEnd: _ended,
    ToolCall: _called,
    ToolResult: _answered,
    Error: _failed,
    Finish: _finished,
}

AGENT = AgentDialect()
