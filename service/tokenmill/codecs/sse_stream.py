"""Codecs `sse+NAME`: raw bytes of an SSE stream, cut anywhere, with events that the codec NAME reads.

Rules of this file:

1. A record is some bytes of the stream. Each event that they complete is passed to the inner codec as a record.
2. A line that is JSON is an event, too: servers may send it instead of a stream, and NDJSON consists of such lines.
3. An event that the inner codec can't read fails its message with an `error` `upstream`, because no single record is to
   blame; the stream continues. The message is that of the chunk before, in all its open choices; without one, the
   message that a header names; otherwise the error is a message of its own.
4. A null value means that nothing follows. Choices of the last chunk's message that the inner codec then leaves open
   are ended here.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from tokenmill.codecs.chunk import Chunk
from tokenmill.codecs.codec import Codec
from tokenmill.codecs.message_id import message_id
from tokenmill.codecs.sse import EVENT_BYTES, Frame, Framing, is_json, whole_events
from tokenmill.errors import RecordError
from tokenmill.limits import CHOICES
from tokenmill.records import InputRecord, Record

PREFIX = "sse+"


class _State(msgspec.Struct, array_like=True, gc=False):
    """An incomplete event, and the inner codec's state."""

    framing: Framing = msgspec.field(default_factory=Framing)
    inner: bytes = b""
    id: str | None = None
    """Id of the last chunk's message, None once that has ended; empty if it has no id."""
    choices: list[int] = []
    """Open choices of that message."""
    failed: bool = False
    """Whether nothing of it has come but an error."""

    def note(self, chunk: Chunk) -> None:
        """Remember what is open after the chunk."""
        self.failed = False
        if self.id != (chunk.message_id or ""):
            self.id, self.choices = chunk.message_id or "", []
        choice = chunk.choice if isinstance(chunk.choice, int) else 0
        if chunk.control is not None and not isinstance(chunk.choice, int):
            self.choices = []
        elif chunk.end is True or chunk.control is not None:
            self.choices = [each for each in self.choices if each != choice]
        elif choice not in self.choices and len(self.choices) < CHOICES:
            self.choices.append(choice)
        if not self.choices:
            self.id = None

    def all(self, **fields: Any) -> list[Chunk]:
        """A chunk for each open choice of the message."""
        return [Chunk(message_id=self.id or None, choice=choice or UNSET, **fields) for choice in self.choices]


_encode_state = msgspec.msgpack.Encoder().encode
_decode_state = msgspec.msgpack.Decoder(_State).decode
_EMPTY = Framing()


class SseCodec:
    """Raw bytes around another codec."""

    cut_anywhere = True

    def __init__(self, inner: Codec) -> None:
        self.name = PREFIX + inner.name
        self.summary = f"raw bytes of an SSE stream, cut anywhere, with events of {inner.name}"
        self.sample: Sequence[InputRecord] = tuple(
            msgspec.structs.replace(record, value=b"data: %b\n\n" % (record.value or b"[DONE]"))
            for record in inner.sample
        )
        self._inner = inner

    def decode(self, state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
        """The chunks of the events that the record completes."""
        known, chunks, value = _decode_state(state) if state else _State(), list[Chunk](), record.value
        if known.framing == _EMPTY and (events := whole_events(value)) is not None:
            for event in events:
                chunks += self._event(event, known, record)
        else:
            for frame in known.framing.feed(value or b"", whole=_is_event, last=value is None):
                chunks += self._read(frame, known, record)
        if value is None:
            chunks += self._end(known, record)
        kept = known.inner or known.id is not None or known.framing != _EMPTY
        return _encode_state(known) if kept else b"", chunks

    def _end(self, known: _State, record: Record) -> Sequence[Chunk]:
        """End the stream, even if the inner codec has no sign for the end."""
        chunks = list[Chunk]()
        try:
            chunks += self._decode(None, known, record)
        except RecordError:
            known.inner = b""
        chunks += known.all(finish_reason="error" if known.failed else None, end=True)
        known.id, known.choices = None, []
        return chunks

    def _read(self, frame: Frame, known: _State, record: Record) -> Sequence[Chunk]:
        if frame.data is None:
            return _failure(f"an event has more than {EVENT_BYTES} bytes; it is left out", known, record)
        return self._event(frame.data.encode(errors="replace"), known, record)

    def _event(self, data: bytes, known: _State, record: Record) -> Sequence[Chunk]:
        try:
            return self._decode(data, known, record)
        except RecordError as problem:
            return _failure(f"{UNREADABLE}: {problem}", known, record)

    def _decode(self, value: bytes | None, known: _State, record: Record) -> Sequence[Chunk]:
        event = InputRecord("", 0, record.offset, record.timestamp, record.key, value, list(record.headers))
        known.inner, chunks = self._inner.decode(known.inner, event)
        for chunk in chunks:
            known.note(chunk)
        return chunks


UNREADABLE = "an event can't be read"
"""Beginning of errors that are our own, not the provider's."""


def _is_event(data: str) -> bool:
    """Whether a data line is a whole event, which need not wait for the blank line that some servers forget."""
    return data == "[DONE]" or (data.startswith("{") and is_json(data))


def _failure(message: str, known: _State, record: Record) -> Sequence[Chunk]:
    """Report an unreadable event in the open or announced message, or else in one that consists of it."""
    if known.id is None and (named := message_id(record)) is not None:
        known.id, known.choices, known.failed = named, [0], True
    return known.all(error=message) or [Chunk(error=message, finish_reason="error", end=True)]
