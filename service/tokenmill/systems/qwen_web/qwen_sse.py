"""Codec `qwen_sse`: the SSE stream of Qwen's web chat, as bytes that are cut anywhere.

Rules of this file:

1. A record is some bytes of the stream; events need not begin or end with it. Lines of data need no blank line after
   them. Data that is not a JSON object is skipped, and so is `[DONE]` where nothing is open.
2. `response.created` opens a message: its `response_id` is the message's id, and its content becomes a part, from which
   sessions are kept. Without it, content opens the unnamed message, or the one that `tm-message-id` names.
3. `content` is reasoning in the phase `think`, else text. Of several `usage`s the last counts.
4. `status` `finished` finishes the message, but not at the end of a phase before the answer. It ends with the first of:
   this marker, or what follows it, with usage known; `[DONE]`; an error; the next `response.created`; a null value,
   which means that nothing follows, so that the last line is read without its line end.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tokenmill.codecs.chunk import Chunk, ProviderPart
from tokenmill.codecs.message_id import message_id
from tokenmill.codecs.payloads import list_of, object_of, shown, text_of
from tokenmill.codecs.plain import check_plain, read_object
from tokenmill.codecs.sse import EVENT_BYTES, Frame, Framing
from tokenmill.errors import Undecodable
from tokenmill.limits import KEY_BYTES
from tokenmill.records import InputRecord, Record

CREATED = "response.created"
"""Key of the event that begins an answer, and kind of the part that is made from it."""

_DONE = "[DONE]"
_THINKING = "think"
_ANSWERING = ("answer", "", None)
"""Phases whose end is that of the answer."""


class _State(msgspec.Struct, array_like=True, gc=False):
    """Half an event, and the message that has not ended."""

    framing: Framing = msgspec.field(default_factory=Framing)
    id: str = ""
    open: bool = False
    finished: bool = False
    """Whether the answer is complete."""
    counted: bool = False
    """Whether usage is known."""


_encode_state = msgspec.msgpack.Encoder().encode
_decode_state = msgspec.msgpack.Decoder(_State).decode
_EMPTY = _encode_state(_State())


class QwenSseCodec:
    """Qwen's web chat. The state is the beginning of an event, and which message is open."""

    name = "qwen_sse"
    cut_anywhere = True
    summary = "bytes of the SSE stream of Qwen's web chat, cut anywhere; [DONE] or a null value ends the message"
    sample: Sequence[InputRecord] = tuple(
        InputRecord("tokens", 0, offset, 1_760_000_000_000 + offset, b"c1", value)
        for offset, value in enumerate(
            (
                b'data: {"response.created":{"chat_id":"chat-1","parent_id":"p-1","response_id":"resp-1"}}\n\n',
                b'data: {"choices":[{"delta":{"role":"assistant","content":"Hel',
                b'lo","phase":"answer","status":"typing"}}],"usage":{"input_tokens":5,"output_tokens":1}}\n\n',
                b'data: {"choices":[{"delta":{"content":"","phase":"answer","status":"finished"}}]}\n\n',
            )
        )
    )

    def decode(self, state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
        """Return the chunks of the events that the record completes."""
        answer = _Answer(_decode_state(state) if state else _State(), message_id(record))
        over = record.value is None
        for frame in answer.state.framing.feed(record.value or b"", whole=_is_event, last=over):
            answer.read(frame)
        if over:
            answer.end()
        kept = _encode_state(answer.state)
        return b"" if kept == _EMPTY else kept, answer.chunks


def _is_event(data: str) -> bool:
    """Whether the data is a whole event."""
    return data == _DONE or (data.startswith("{") and data.rstrip().endswith("}") and _object(data) is not None)


def _object(data: str) -> dict[str, Any] | None:
    try:
        return read_object(data, "an event")
    except Undecodable:
        return None


class _Answer:
    """The answer of one stream, and the chunks of a record."""

    def __init__(self, state: _State, default_id: str | None) -> None:
        self.state = state
        self.chunks: list[Chunk] = []
        self._default_id = default_id

    def read(self, frame: Frame) -> None:
        """Read one event."""
        if frame.data is None:
            self._put(Chunk(error=f"an event has more than {EVENT_BYTES} bytes; it is left out"))
        elif frame.data.strip() == _DONE:
            self.end()
        elif (event := _object(frame.data)) is not None:
            error = _error_of(event)
            if error is not None:
                self._put(Chunk(error=error, finish_reason="error"))
                self.end()
            elif not frame.bare:
                self._created(event.get(CREATED))
                self._delta(event)

    def end(self) -> None:
        """End the open message, if any."""
        if self.state.open:
            self._put(Chunk(end=True))
        self.state = _State(self.state.framing)

    def _created(self, said: Any) -> None:
        """Begin a new answer."""
        if not isinstance(said, Mapping) or not _is_plain(said):
            return
        self.end()
        response = said.get("response_id")
        if isinstance(response, str) and len(response.encode(errors="replace")) <= KEY_BYTES:
            self.state.id = response
        self._put(Chunk(part=ProviderPart(CREATED, said)))

    def _delta(self, event: Mapping[str, Any]) -> None:
        """Read more of the answer."""
        state, delta, usage = self.state, _first_delta(event), event.get("usage")
        text, phase = text_of(delta.get("content")), delta.get("phase")
        usage = usage if isinstance(usage, dict) and usage and _is_plain(usage) else None
        finished = delta.get("status") == "finished" and phase in _ANSWERING
        if not text and not (state.open and (usage or finished)):
            return
        state.finished = state.finished or finished
        state.counted = state.counted or usage is not None
        thinking = phase == _THINKING
        self._put(
            Chunk(
                reasoning=text if thinking else "",
                delta="" if thinking else text,
                usage=usage,
                finish_reason="stop" if finished else None,
            )
        )
        if state.finished and state.counted:
            self.end()

    def _put(self, chunk: Chunk) -> None:
        self.state.open = True
        named = self.state.id or self._default_id or None
        self.chunks.append(msgspec.structs.replace(chunk, message_id=named))


def _first_delta(event: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = list_of(event.get("choices"))
    return object_of(object_of(choices[0]).get("delta")) if choices else {}


def _is_plain(value: Any) -> bool:
    """Whether the provider's value can be kept and published."""
    try:
        check_plain(value, "event")
    except Undecodable:
        return False
    return True


def _error_of(event: Mapping[str, Any]) -> str | None:
    """Return what went wrong, if the event reports a failure: `error`, or `success` false with the reason in `data`."""
    said = event.get("error")
    if not said and event.get("success") is False:
        said = event.get("data") or "the request failed"
    if not said:
        return None
    if not isinstance(said, Mapping):
        return shown(said)
    words = [said.get(name) for name in ("message", "details", "code")]
    return ": ".join(str(word) for word in words if isinstance(word, str | int) and word != "") or "the request failed"


QWEN_SSE = QwenSseCodec()
