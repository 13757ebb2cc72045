"""Dialect `openai_completion`: the whole answer as one `chat.completion`, when it ends.

1. It is what a client would have built from the stream in the dialect `openai`: the same text, the same calls.
   `content` is null where there are calls and no text. `usage` is zeros where the provider gave none.
2. An answer that ended with an error contains what has come of it, and is marked: `finish_reason` is `length`, as for
   other incomplete answers, and `error` gives the reason.
3. What is kept is capped, and so is the object. The beginning is kept, to the character; nothing after the cap is, and
   a call is kept whole or not at all. If it ends with calls and has room for none, `finish_reason` is `length`. Such an
   object has `tm-truncated` in its `metadata`, and its record has a header of that name. `reasoning_details` have a cap
   of their own, and only the room that is left in the object: where they do not fit, all of them are left out, and
   nothing else is.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from tokenmill.dialects.chat_completion import FAILED_CALLS, error_of, finish_of, head, shape_of, usage_of
from tokenmill.dialects.dialect import Dialect, Envelope
from tokenmill.dialects.json_text import beginning, json_bytes, json_size
from tokenmill.dialects.said_again import DETAILS, EXTRA, CallExtras, ReasoningDetails
from tokenmill.dialects.trimming import Trimming
from tokenmill.events import Error, Event, Finish, Part, ReasoningDelta, TextDelta, TextStart, ToolCall
from tokenmill.limits import KIB, MIB
from tokenmill.parser.run.state import PIECE_BYTES, Source

COMPLETION_BYTES = 1 * MIB
"""Bytes of one object, at most: a quarter of a million tokens. Fewer where an output record takes less."""

FRAME_BYTES = 8 * KIB
"""Bytes of the object without its content: ids, names of fields, counts, the text of an error."""

ROOM_BYTES = 264
"""Bytes of memory of what `room_of` keeps in an envelope."""

LENGTH = "length"


class CompletionState(msgspec.Struct, array_like=True, gc=False):
    """The answer so far."""

    texts: dict[str, Source] = {}
    """Text by the message's field, in pieces that are only appended to."""
    calls: list[tuple[str, str, str, bool]] = []
    """Id, name, what its tool gets, and whether there are extras beside it."""
    size: int = 0
    """Bytes of all that as JSON, and of what there was no room for."""
    truncated: bool = False
    trimming: Trimming = msgspec.field(default_factory=Trimming)
    failure: Error | None = None
    cut: bool = False
    """Whether the block of text belongs to a call that was cut off."""
    extras: CallExtras = msgspec.field(default_factory=CallExtras)
    details: ReasoningDetails = msgspec.field(default_factory=ReasoningDetails)

    @property
    def memory(self) -> int:
        """About how many bytes it takes."""
        calls = sum(PIECE_BYTES + len(name) + len(arguments) for _, name, arguments, _ in self.calls)
        texts = sum(text.memory for text in self.texts.values())
        return ROOM_BYTES + calls + self.extras.size + self.details.memory + texts

    def add(self, field: str, text: str, envelope: Envelope) -> None:
        """Add text to a field, as much as there is room for."""
        kept = self._fitting(text, envelope)
        if not kept:
            return
        said = self.texts.get(field)
        if said is None:
            said = self.texts[field] = Source()
        said.add(kept)

    def call(self, call: ToolCall, envelope: Envelope) -> None:
        """Keep a call, if there is room."""
        given = shape_of(envelope, call.name).given(call.arguments)
        entry = (call.id, call.name, given, call.id in self.extras.by_call)
        if self._takes(len(json_bytes(self.shown(entry, envelope))) + 1, room_of(envelope)):
            self.calls.append(entry)

    def shown(self, entry: tuple[str, str, str, bool], envelope: Envelope) -> dict[str, Any]:
        """Return a call as the object has it."""
        call_id, name, given, extra = entry
        said = shape_of(envelope, name).said(name, given)
        return {"id": call_id, **said, **(self.extras.of(call_id) if extra else {})}

    def _takes(self, size: int, room: int) -> bool:
        """Whether there is room for `size` bytes; once there was not, nothing is kept."""
        self.truncated = self.truncated or self.size + size > room
        self.size += size
        return not self.truncated

    def _fitting(self, text: str, envelope: Envelope) -> str:
        """Return the text, or the part of it that there is room for."""
        if self.truncated:
            return ""
        room = room_of(envelope)
        left = room - self.size
        return text if self._takes(json_size(text), room) else beginning(text, left)


def room_of(envelope: Envelope) -> int:
    """Return the bytes that the content of a whole answer's object may take."""
    return envelope.constant("room", _room)


def _room(envelope: Envelope) -> int:
    return min(COMPLETION_BYTES, envelope.payload_bytes) - FRAME_BYTES - json_size(envelope.model)


class CompletionDialect(Dialect):
    """Writes the whole answer as one chat completion."""

    name = "openai_completion"
    summary = "the whole answer as OpenAI's chat.completion object, once it is complete"
    state_type = CompletionState

    def encode(
        self, state: CompletionState | None, envelope: Envelope, event: Event, _seq: int | None, _time: int
    ) -> Sequence[bytes]:
        """Write the object at the end; nothing before, and nothing for a message whose state is gone."""
        if state is None:
            return ()
        if isinstance(event, Finish):
            return (_completion(state, envelope, event),)
        if (handle := _HANDLERS.get(event.__class__)) is not None:
            handle(state, envelope, event)
        return ()


def _text_start(state: CompletionState, _envelope: Envelope, event: TextStart) -> None:
    state.cut = event.cut is True


def _text(state: CompletionState, envelope: Envelope, event: TextDelta) -> None:
    if not state.cut:
        state.add("content", state.trimming.text(event.delta, tools=bool(envelope.request.tools)), envelope)


def _reasoning(state: CompletionState, envelope: Envelope, event: ReasoningDelta) -> None:
    state.add("reasoning_content", event.delta, envelope)


def _part(state: CompletionState, envelope: Envelope, event: Part) -> None:
    if event.kind == "refusal" and isinstance(event.value, str):
        state.add("refusal", event.value, envelope)
    elif event.kind == EXTRA:
        state.extras.keep(event)
    elif event.kind == DETAILS and isinstance(event.value, list):
        for fragment in event.value:
            if isinstance(fragment, dict):
                state.details.add(fragment)


def _called(state: CompletionState, envelope: Envelope, event: ToolCall) -> None:
    state.trimming.call()
    state.call(event, envelope)


def _error(state: CompletionState, _envelope: Envelope, event: Error) -> None:
    if event.code == "upstream":
        state.failure = event
    elif event.code in FAILED_CALLS:
        state.trimming.fail()


def _completion(state: CompletionState, envelope: Envelope, event: Finish) -> bytes:
    state.add("content", state.trimming.end(), envelope)
    message: dict[str, Any] = {"role": "assistant", "content": None if state.calls else ""}
    message |= {field: text.text() for field, text in state.texts.items()}
    if state.calls:
        message["tool_calls"] = [state.shown(entry, envelope) for entry in state.calls]
    if state.details.known and state.size + state.details.size <= room_of(envelope):
        message[DETAILS] = state.details.plain()
    reason = finish_of(event.reason, called=bool(state.calls))
    if state.truncated and event.reason == "tool-calls" and not state.calls:
        reason = LENGTH  # the calls had no room
    choice = {"index": envelope.choice, "message": message, "finish_reason": reason or LENGTH}
    answer = {**head(envelope, "chat.completion"), "choices": [choice], "usage": usage_of(event.usage)}
    if reason is None:
        answer["error"] = error_of(envelope, event.reason, state.failure)
    if state.truncated:
        answer["metadata"] = {"tm-truncated": "1"}
    return json_bytes(answer)


_HANDLERS: dict[type[Event], Callable[[CompletionState, Envelope, Any], None]] = {
    TextStart: _text_start,
    TextDelta: _text,
    ReasoningDelta: _reasoning,
    ToolCall: _called,
    Part: _part,
    Error: _error,
}
"""The handler of each event that is kept."""

OPENAI_COMPLETION = CompletionDialect()
