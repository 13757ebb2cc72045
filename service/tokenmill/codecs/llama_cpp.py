"""Codec `llama_cpp`: the events of llama.cpp's `/completion`, which completes a prompt and does not parse the answer.

Rules of this file:

1. A record is one JSON object, or lines of an SSE stream, of which those with `data:` count.
2. There are no ids: the message is the conversation's unnamed one, or that of the header `tm-message-id`.
3. `stop` ends the message; so do an error and a null value. A stop at a limit is `length`, all others are `stop`.
"""

from collections.abc import Sequence
from typing import Any

from tokenmill.codecs.answer import Answer
from tokenmill.codecs.chunk import Chunk
from tokenmill.codecs.message_id import message_id
from tokenmill.codecs.payloads import DONE, object_of, payloads, shown, status_of, text_of
from tokenmill.codecs.plain import read_object
from tokenmill.errors import Undecodable
from tokenmill.records import InputRecord, Record

_KNOWN = frozenset({"content", "stop", "error"})

_COUNTS = {"prompt_tokens": "tokens_evaluated", "completion_tokens": "tokens_predicted"}
"""Common names of its counts."""

_OPEN = b"1"
"""State while a message is open."""


class LlamaCppCodec:
    """Events of a completion; the state is whether a message is open."""

    name = "llama_cpp"
    summary = "events of llama.cpp's /completion, a JSON object each; stop ends the message"
    sample: Sequence[InputRecord] = tuple(
        InputRecord("tokens", 0, offset, 1_760_000_000_000 + offset, b"c1", value)
        for offset, value in enumerate(
            (
                b'{"index":0,"content":"Hello","stop":false}',
                b'{"index":0,"content":"","stop":true,"stop_type":"eos","tokens_predicted":1,"tokens_evaluated":5}',
            )
        )
    )

    def decode(self, state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
        """The chunks of a record, all or none. Raises `Undecodable`."""
        answer = Answer(message_id(record) or "", is_open=bool(state))
        if record.value is None:
            answer.end()
            return b"", answer.chunks
        for data in payloads(record.value):
            if data != DONE:
                state = _read(read_object(data, "an event of llama.cpp's"), state, answer)
        return state, answer.chunks


def _read(event: dict[str, Any], state: bytes, answer: Answer) -> bytes:
    """Read one event; returns the state after it."""
    if not _KNOWN & event.keys():
        raise Undecodable(f"not an event of llama.cpp's: it has none of {', '.join(sorted(_KNOWN))}")
    if error := event.get("error"):
        said = object_of(error)
        answer.fail(text_of(said.get("message")) or shown(error), status_of(said.get("code")))
        return b""
    text, stop = text_of(event.get("content")), event.get("stop") is True
    if text or (stop and not state):
        answer.put(delta=text, **({} if state else {"open": {}}))
        state = _OPEN
    if not stop:
        return state
    counts = {name: event[own] for name, own in _COUNTS.items() if own in event}
    answer.end(
        usage=answer.usage(counts) or None,
        finish_reason="length" if event.get("stop_type") == "limit" else "stop",
        stop_sequence=text_of(event.get("stopping_word")) or None,
    )
    return b""


LLAMA_CPP = LlamaCppCodec()
