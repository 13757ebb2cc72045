"""Codec `anthropic`: the events of Anthropic's Messages stream.

Rules of this file:

1. A record is one event, as JSON or as lines of SSE, with a `type`. Unknown types and `ping` are ignored.
2. `message_start` opens the message that its id names. Without one, content opens the conversation's unnamed message,
   or the one that the header `tm-message-id` names.
3. A block of `tool_use` is a call. Its arguments come in pieces; without pieces, those of its start count. A call that
   ends without either has no arguments once another block follows; until then the answer may have been cut off before
   them. Other blocks with `input_json_delta`s become parts when complete, all remaining blocks as they begin.
4. Counts of tokens are cumulative: later ones replace earlier ones, and null is ignored.
5. `message_stop` ends the message; so do an error, the `message_start` of another, `[DONE]` that a proxy adds, and a
   null value, which means that nothing follows.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from tokenmill.codecs.chunk import Chunk
from tokenmill.codecs.event_stream import AnswerState, EventStream
from tokenmill.codecs.payloads import (
    error_of,
    identity_of,
    index_of,
    model_of,
    object_of,
    text_of,
)
from tokenmill.codecs.plain import check_plain
from tokenmill.errors import Undecodable
from tokenmill.limits import DETAIL_BYTES, KIB
from tokenmill.records import InputRecord, Record

Json: TypeAlias = dict[str, Any]

INPUT_CHARS = 256 * KIB
"""Characters of input of a block that is not a call of ours: the same as for a call."""

BLOCKS = 8
"""Blocks with input that may be open at once: the API ends one before the next begins."""

STATUSES: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""HTTP status of each type of error, which the provider would have sent if the head had not gone out before."""

_TOOL = "tool_use"
_OF_TEXT = frozenset({"text", "thinking"})


class _Block(msgspec.Struct, array_like=True, gc=False):
    """A block that has begun and is not text."""

    index: int
    kind: str
    start: Json = {}
    """The block as it began, or its input if it is a call."""
    pieces: str = ""
    """Its input so far, unless it is passed on immediately."""
    fed: bool = False
    """Whether input has come."""
    ended: bool = False
    """Whether it has ended as a call without arguments, which counts unless the answer ends with it."""


class _State(AnswerState, array_like=True, gc=False):
    """The open message."""

    usage: Json = {}
    blocks: list[_Block] = []


class AnthropicCodec:
    """Anthropic's events; the state is the open message and its blocks."""

    name = "anthropic"
    summary = (
        "events of Anthropic's Messages stream, one per record: JSON, or lines of SSE; message_stop ends the message"
    )
    sample: Sequence[InputRecord] = tuple(
        InputRecord("tokens", 0, offset, 1_760_000_000_000 + offset, b"c1", value)
        for offset, value in enumerate(
            (
                b'{"type":"message_start","message":{"id":"msg_1","model":"m","usage":{"input_tokens":5}}}',
                b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
                b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}',
                b'{"type":"content_block_stop","index":0}',
                b'{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}',
                b'{"type":"message_stop"}',
            )
        )
    )

    def decode(self, state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
        """The chunks of a record, all or none. Raises `Undecodable`."""
        stream = _Stream(_states, state, record)
        stream.read_record(record.value, "an event of Anthropic's Messages stream")
        return stream.remembered(), stream.answer.chunks


_states = msgspec.msgpack.Decoder(_State)


class _Stream(EventStream[_State]):
    """A stream of events, and the chunks of a record."""

    def read(self, event: Json) -> None:
        """Read one event."""
        if (handle := _HANDLERS.get(event["type"])) is not None:
            handle(self, event)

    def end(self) -> None:
        """End the open message, if any."""
        if self.answer.open:
            for block in list(self.state.blocks):
                self._close(block)
        super().end()

    def start(self, event: Json) -> None:
        """`message_start`."""
        self.end()
        message = object_of(event.get("message"))
        self.begin(identity_of(message.get("id")))
        self._count(object_of(message.get("usage")))
        self.answer.put(open={}, model=model_of(message.get("model")))

    def block_start(self, event: Json) -> None:
        """`content_block_start`."""
        raw, index = object_of(event.get("content_block")), index_of(event.get("index"))
        kind = text_of(raw.get("type"))
        for block in [block for block in self.state.blocks if block.ended]:
            self.state.blocks.remove(block)
            self.answer.call(block.index, arguments="{}")
        if kind in _OF_TEXT:
            self._put_text(raw)
        elif kind == _TOOL:
            given = object_of(raw.get("input"))
            self._begin(_Block(index, kind, given))
            self.answer.call(index, id=text_of(raw.get("id")), name=text_of(raw.get("name")))
        elif isinstance(raw.get("input"), dict):
            self._begin(_Block(index, kind, raw))
        elif kind == "redacted_thinking":
            self.answer.part(kind, raw.get("data"))
        elif kind:
            self.answer.part(kind, raw)

    def block_delta(self, event: Json) -> None:
        """`content_block_delta`."""
        delta, index = object_of(event.get("delta")), index_of(event.get("index"))
        match delta.get("type"):
            case "text_delta" | "thinking_delta":
                self._put_text(delta)
            case "input_json_delta":
                self._input(index, text_of(delta.get("partial_json")))
            case "signature_delta":
                self.answer.part("signature", delta.get("signature"))
            case "citations_delta":
                self.answer.part("citation", delta.get("citation"))
            case str(kind):
                self.answer.part(kind, delta)

    def block_stop(self, event: Json) -> None:
        """`content_block_stop`."""
        block = self._block(index_of(event.get("index")))
        if block is None:
            return
        block.ended = block.kind == _TOOL and not block.fed and not block.start
        if not block.ended:
            self._close(block)

    def message_delta(self, event: Json) -> None:
        """`message_delta`: the stop reason and the counts."""
        self._count(object_of(event.get("usage")))
        delta = object_of(event.get("delta"))
        reason, stop = (text_of(delta.get(name)) or None for name in ("stop_reason", "stop_sequence"))
        if self.answer.open:
            self.answer.put(usage=self.state.usage or None, finish_reason=reason, stop_sequence=stop)

    def fail(self, event: Json) -> None:
        """`error`: the stream is over."""
        error = event.get("error")
        self.answer.fail(error_of(error), STATUSES.get(text_of(object_of(error).get("type"))))
        self.forget()

    # Content

    def _count(self, counts: Json) -> None:
        """Replace earlier counts by later ones with the same names."""
        said = self.answer.usage(counts)
        usage = self.state.usage | {name: count for name, count in said.items() if count is not None}
        if len(str(usage)) > DETAIL_BYTES:
            raise Undecodable(f"counts of tokens are longer than {DETAIL_BYTES} characters")
        self.state.usage = usage

    def _put_text(self, said: Json) -> None:
        text, thinking = text_of(said.get("text")), text_of(said.get("thinking"))
        if text or thinking:
            self.answer.put(delta=text, reasoning=thinking)
        if signature := text_of(said.get("signature")):
            self.answer.part("signature", signature)

    def _begin(self, block: _Block) -> None:
        """Begin a block whose input may come in pieces."""
        check_plain(block.start, block.kind)
        if len(self.state.blocks) == BLOCKS:
            raise Undecodable(f"more than {BLOCKS} blocks are open at once")
        if len(msgspec.json.encode(block.start)) > INPUT_CHARS:
            raise Undecodable(f"a block of {block.kind!r:.50} begins with more than {INPUT_CHARS} bytes")
        self.state.blocks.append(block)

    def _block(self, index: int) -> _Block | None:
        return next((block for block in self.state.blocks if block.index == index), None)

    def _input(self, index: int, piece: str) -> None:
        block = self._block(index)
        if block is None or not piece:
            return
        block.fed = True
        if block.kind == _TOOL:
            self.answer.call(index, arguments=piece)
            return
        block.pieces += piece
        if len(block.pieces) > INPUT_CHARS:
            raise Undecodable(f"the input of a block of {block.kind!r:.50} is longer than {INPUT_CHARS} characters")

    def _close(self, block: _Block) -> None:
        self.state.blocks.remove(block)
        if block.kind == _TOOL:
            if not block.fed and block.start:
                self.answer.call(block.index, arguments=msgspec.json.encode(block.start).decode())
            return
        value = block.start
        if block.fed:
            value = {**value, "input": _input_of(block.pieces)}
        self.answer.part(block.kind, value)


def _input_of(pieces: str) -> Any:
    """The input made of its pieces; their text if that is not JSON, or can't be kept.

    An error would come again with everything that closes the block: its own end, the message's and the stream's.
    """
    try:
        value = msgspec.json.decode(pieces)
        check_plain({"input": value}, "input")
    except (msgspec.DecodeError, RecursionError, Undecodable):
        return pieces
    return value


_HANDLERS: dict[str, Callable[[_Stream, Json], None]] = {
    "message_start": _Stream.start,
    "content_block_start": _Stream.block_start,
    "content_block_delta": _Stream.block_delta,
    "content_block_stop": _Stream.block_stop,
    "message_delta": _Stream.message_delta,
    "message_stop": lambda stream, _event: stream.end(),
    "error": _Stream.fail,
}
"""Handlers by type of event; all other types are ignored."""

ANTHROPIC = AnthropicCodec()
