"""Dialect `anthropic_message`: the whole answer as one Message of Anthropic's API, when it ends.

1. It is what a client would have built from the stream in the dialect `anthropic`: the same blocks, the same reason,
   the same counts, without citations. Calls come whole, whatever the message asks for; one that breaks off is not
   shown.
2. An answer that failed or timed out, or whose state was lost, is an object `error`, like the end of such a stream.
3. What is kept is capped, and so is the object. The beginning is kept, to the character; nothing after the cap is, and
   calls, signatures and redacted thinking are kept whole or not at all. If it ends with calls and has room for none,
   `stop_reason` is `max_tokens`. Such an object has `tm-truncated` in its `metadata`, and its record has a header of
   that name.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from tokenmill.dialects.anthropic import ANTHROPIC, AnthropicState
from tokenmill.dialects.dialect import Dialect, Envelope
from tokenmill.dialects.json_text import beginning, json_bytes, json_size
from tokenmill.dialects.openai_completion import ROOM_BYTES, room_of
from tokenmill.events import ArgumentDelta, Event, ReasoningDelta, TextDelta, ToolInputDelta, ToolInputStart
from tokenmill.parser.run.state import Source

BLOCK_BYTES = 96
"""Bytes of JSON of a block besides its content: words of the shape."""

_GROWTH = (ToolInputStart, ToolInputDelta, ArgumentDelta)
"""Events of a call that is not complete: without them it comes whole."""

_DELTAS = (TextDelta, ReasoningDelta)
_BLOCKS: Mapping[type[Event], str] = {TextDelta: "text", ReasoningDelta: "thinking"}
"""Kind of block that a delta continues or begins."""

_TOOL_USE: Final = "tool_use"
_REDACTED: Final = "redacted_thinking"


class MessageBlock(msgspec.Struct, array_like=True, gc=False):
    """A block of the answer."""

    kind: str
    said: Source = msgspec.field(default_factory=Source)
    """Its text; for a call the arguments as JSON, for redacted thinking its data."""
    signature: str = ""
    """Signature of thinking."""
    id: str = ""
    """Id of a call."""
    name: str = ""
    """Name of a call."""


class AnthropicMessageState(msgspec.Struct, array_like=True, gc=False):
    """The answer so far."""

    stream: AnthropicState = msgspec.field(default_factory=AnthropicState)
    """State of the dialect whose stream the answer is built from."""
    blocks: list[MessageBlock] = []
    size: int = 0
    """Bytes of them as JSON, and of what there was no room for."""
    truncated: bool = False

    @property
    def memory(self) -> int:
        """About how many bytes it takes."""
        return ROOM_BYTES + sum(BLOCK_BYTES + block.said.memory + len(block.signature) for block in self.blocks)

    def takes(self, size: int, room: int) -> bool:
        """Whether there is room for `size` bytes; once there was not, nothing is kept."""
        self.truncated = self.truncated or self.size + size > room
        self.size += size
        return not self.truncated


class AnthropicMessageDialect(Dialect):
    """Writes the whole answer as one Message."""

    name = "anthropic_message"
    summary = "the whole answer as a Message of Anthropic's API, once it is complete"
    state_type = AnthropicMessageState

    def encode(
        self, state: AnthropicMessageState | None, envelope: Envelope, event: Event, seq: int | None, time: int
    ) -> Sequence[bytes]:
        """Write the object at the end; nothing before."""
        if state is None:
            return ANTHROPIC.encode(None, envelope, event, seq, time)
        stream = state.stream
        if isinstance(event, _DELTAS) and stream.kind == _BLOCKS[event.__class__] and not stream.cut:
            _go_on(state, envelope, event.delta)
            return ()
        if isinstance(event, _GROWTH):
            return ()
        out: list[bytes] = []
        for payload in ANTHROPIC.encode(stream, envelope, event, seq, time):
            said = _read(payload)
            if said["type"] == "error":
                return (payload,)
            if (fold := _FOLDS.get(said["type"])) is not None:
                fold(state, envelope, said, out)
        return out


def _read(payload: bytes) -> Any:
    try:
        return msgspec.json.decode(payload)
    except msgspec.DecodeError:  # `odd_bytes` wrote half a surrogate pair
        return json.loads(payload)


def _go_on(state: AnthropicMessageState, envelope: Envelope, text: str) -> None:
    """Add to the open block of text or thinking what the stream's payload would add: nearly all events are such deltas,
    and to write and read a payload for each takes two thirds of the time.
    """
    if not state.truncated:
        read = text if text.isascii() else _read(json_bytes(text))  # two halves of a character become one
        _say(state, read, room_of(envelope))


def _say(state: AnthropicMessageState, text: str, room: int) -> None:
    """Add to the last block's text, as much as there is room for."""
    left = room - state.size
    state.blocks[-1].said.add(text if state.takes(json_size(text), room) else beginning(text, left))


def _begin(state: AnthropicMessageState, envelope: Envelope, said: Any, _out: list[bytes]) -> None:
    """Begin a block, if there is room for it; of those that come whole the rest follows with this event."""
    block = said["content_block"]
    begun = MessageBlock(block["type"], id=block.get("id", ""), name=block.get("name", ""))
    begun.said.add(block.get("data", ""))
    size = BLOCK_BYTES + sum(json_size(text) for text in (begun.id, begun.name, begun.said.text()))
    if state.takes(size, room_of(envelope)):
        state.blocks.append(begun)


def _grow(state: AnthropicMessageState, envelope: Envelope, said: Any, _out: list[bytes]) -> None:
    """Add to the last block, as much as there is room for."""
    if state.truncated:
        return
    delta, block, room = said["delta"], state.blocks[-1], room_of(envelope)
    kind = delta["type"].removesuffix("_delta")
    if kind == "input_json":
        _argue(state, block, delta["partial_json"], room)
    elif kind == "signature":
        block.signature = delta["signature"] if state.takes(json_size(delta["signature"]), room) else ""
    elif kind == block.kind:
        _say(state, delta[kind], room)


def _argue(state: AnthropicMessageState, block: MessageBlock, text: str, room: int) -> None:
    """Add to a call's arguments; without room for all of them there is no call."""
    if state.takes(len(text.encode(errors="replace")), room):
        block.said.add(text)
    else:
        state.blocks.pop()


def _end(state: AnthropicMessageState, envelope: Envelope, said: Any, out: list[bytes]) -> None:
    """Write the object."""
    content = b",".join(_encoded(block) for block in state.blocks if block.said.size or block.signature)
    fields = {"id": envelope.choice_id, "type": "message", "role": "assistant", "model": envelope.model}
    further = {**said["delta"], "usage": said["usage"]}
    if further["stop_reason"] == _TOOL_USE and not any(block.kind == _TOOL_USE for block in state.blocks):
        further["stop_reason"] = "max_tokens"  # the calls had no room
    if state.truncated:
        further["metadata"] = {"tm-truncated": "1"}
    out.append(b'%b,"content":[%b],%b' % (json_bytes(fields)[:-1], content, json_bytes(further)[1:]))


def _encoded(block: MessageBlock) -> bytes:
    if block.kind == _TOOL_USE:  # its arguments are JSON already
        fields = {"type": _TOOL_USE, "id": block.id, "name": block.name}
        return b'%b,"input":%b}' % (json_bytes(fields)[:-1], block.said.text().encode(errors="replace"))
    text = {"type": block.kind, "data" if block.kind == _REDACTED else block.kind: block.said.text()}
    return json_bytes(text | ({"signature": block.signature} if block.kind == "thinking" else {}))


_FOLDS: Mapping[str, Callable[[AnthropicMessageState, Envelope, Any, list[bytes]], None]] = {
    "content_block_start": _begin,
    "content_block_delta": _grow,
    "message_delta": _end,
}
"""The handler of each payload of the stream; the others add nothing to the whole."""

ANTHROPIC_MESSAGE = AnthropicMessageDialect()
