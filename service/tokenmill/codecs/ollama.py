"""Codec `ollama`: the lines of Ollama's `/api/chat` and `/api/generate`.

Rules of this file:

1. A record is one JSON object, or several, one per line.
2. There are no ids: the message is the conversation's unnamed one, or that of the header `tm-message-id`.
3. Calls come whole, with their arguments as an object.
4. `done` ends the message; so do an error, which is checked first, and a null value. A line that only reports that a
   model was loaded opens no message.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from tokenmill.codecs.answer import Answer
from tokenmill.codecs.chunk import Chunk
from tokenmill.codecs.message_id import message_id
from tokenmill.codecs.payloads import list_of, model_of, object_of, shown, text_of
from tokenmill.codecs.plain import check_plain, read_object
from tokenmill.errors import Undecodable
from tokenmill.records import InputRecord, Record

Json: TypeAlias = dict[str, Any]

_KNOWN = frozenset({"message", "response", "done", "error"})
_NO_ANSWER = frozenset({"load", "unload"})
"""Values of `done_reason` that end no answer."""

_COUNTS = ("prompt_eval_count", "eval_count")


class _State(msgspec.Struct, array_like=True, gc=False):
    """The open message."""

    calls: int = 0
    """Number of calls so far."""


_encode_state = msgspec.msgpack.Encoder().encode
_decode_state = msgspec.msgpack.Decoder(_State).decode


class OllamaCodec:
    """Ollama's lines; the state is the number of calls in the open message."""

    name = "ollama"
    summary = "lines of Ollama's chat or generate, a JSON object each; done ends the message"
    sample: Sequence[InputRecord] = tuple(
        InputRecord("tokens", 0, offset, 1_760_000_000_000 + offset, b"c1", value)
        for offset, value in enumerate(
            (
                b'{"model":"m","message":{"role":"assistant","content":"Hello"},"done":false}',
                b'{"model":"m","message":{"content":""},"done":true,"done_reason":"stop","eval_count":1}',
            )
        )
    )

    def decode(self, state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
        """The chunks of a record, all or none. Raises `Undecodable`."""
        known = _decode_state(state) if state else None
        answer = Answer(message_id(record) or "", is_open=known is not None)
        lines = [line for line in (record.value or b"").splitlines() if line.strip()]
        for line in lines:
            known = _read(read_object(line, "a line of Ollama's"), known, answer)
        if record.value is None:
            answer.end()
            known = None
        return _encode_state(known) if known is not None else b"", answer.chunks


def _read(line: Json, known: _State | None, answer: Answer) -> _State | None:
    """Read one line; returns the state of the message that is open after it."""
    if not _KNOWN & line.keys():
        raise Undecodable(f"not a line of Ollama's: it has none of {', '.join(sorted(_KNOWN))}")
    if line.get("error"):
        answer.fail(shown(line["error"]))
        return None
    message = object_of(line.get("message"))
    text = text_of(message.get("content")) or text_of(line.get("response"))
    thinking = text_of(message.get("thinking")) or text_of(line.get("thinking"))
    calls = [object_of(call) for call in list_of(message.get("tool_calls"))]
    done, reason = line.get("done") is True, text_of(line.get("done_reason"))
    if known is None and not (text or thinking or calls) and (not done or reason in _NO_ANSWER):
        return None
    opened: Json = {"open": {}, "model": model_of(line.get("model"))} if known is None else {}
    state = known or _State()
    if text or thinking or opened:
        answer.put(delta=text, reasoning=thinking, **opened)
    for call in calls:
        _call(call, state, answer)
    answer.part("images", message.get("images"))
    if not done:
        return state
    usage = {name: line[name] for name in _COUNTS if name in line}
    answer.end(usage=answer.usage(usage) or None, finish_reason=reason or None)
    return None


def _call(call: Json, state: _State, answer: Answer) -> None:
    function = object_of(call.get("function"))
    arguments = function.get("arguments")
    check_plain(arguments, "tool_calls")
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments or {}).decode()
    named = {"id": call["id"]} if isinstance(call.get("id"), str) and call["id"] else {}
    answer.call(state.calls, **named, name=text_of(function.get("name")), arguments=text)
    state.calls += 1


OLLAMA = OllamaCodec()
