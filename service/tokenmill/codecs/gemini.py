"""Codec `gemini`: the responses of Gemini's `streamGenerateContent`.

Rules of this file:

1. A record is one `GenerateContentResponse`, as JSON or as a line of SSE; or, from a stream that is one JSON array, an
   element of it, with or without the brackets and commas around it.
2. The message is that of `responseId`; without one it is the conversation's unnamed message, or the one that the header
   `tm-message-id` names. Candidates are its choices.
3. A text part is reasoning if it is a `thought`. Function calls are calls: whole ones as they are, partial ones when
   they are complete. Every other kind of part, and a signature, is a part of the message.
4. A `finishReason` finishes its candidate. The message ends when all are finished and counts of tokens have come with
   the last one, as they do on every response, or follow it. It also ends when the prompt is blocked, with an error,
   with the first response of another message, with `[DONE]` that a proxy adds, and with a null value.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from tokenmill.codecs.chunk import Chunk, ProviderPart
from tokenmill.codecs.gemini_arguments import PartialCall
from tokenmill.codecs.message_id import message_id
from tokenmill.codecs.payloads import (
    DONE,
    error_of,
    identity_of,
    index_of,
    list_of,
    model_of,
    object_of,
    payloads,
    status_of,
    text_of,
)
from tokenmill.codecs.plain import check_depth, check_plain, read_object
from tokenmill.errors import Undecodable
from tokenmill.limits import CHOICES
from tokenmill.records import InputRecord, Record

Json: TypeAlias = dict[str, Any]

_ITS_OWN = frozenset({"text", "thought", "thoughtSignature", "functionCall", "partMetadata"})
"""Fields of a part that are not its kind."""

_KNOWN = frozenset({"candidates", "usageMetadata", "promptFeedback", "responseId", "modelVersion", "error"})

_ARRAY = (b"[", b",", b"]")
"""Bytes that a piece of an array begins or ends with, apart from elements."""

_AROUND = b"[], \t\r\n"
"""Bytes that may stand around an element."""


class _Candidate(msgspec.Struct, array_like=True, gc=False):
    index: int
    silent: bool = True
    """Whether no chunk of it has been made."""
    finished: bool = False
    calls: int = 0
    partial: PartialCall | None = None


class _State(msgspec.Struct, array_like=True, gc=False):
    """The open message."""

    id: str = ""
    open: bool = False
    candidates: list[_Candidate] = []


_encode_state = msgspec.msgpack.Encoder().encode
_decode_state = msgspec.msgpack.Decoder(_State).decode


class GeminiCodec:
    """Responses of Gemini; the state is the open message and the progress of its candidates."""

    name = "gemini"
    summary = "responses of Gemini's streamGenerateContent, one per record: JSON, or a line of SSE"
    sample: Sequence[InputRecord] = tuple(
        InputRecord("tokens", 0, offset, 1_760_000_000_000 + offset, b"c1", value)
        for offset, value in enumerate(
            (
                b'{"responseId":"r1","candidates":[{"content":{"role":"model","parts":[{"text":"Hello"}]}}]}',
                b'{"responseId":"r1","candidates":[{"finishReason":"STOP"}],"usageMetadata":{"totalTokenCount":6}}',
            )
        )
    )

    def decode(self, state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
        """The chunks of a record, all or none. Raises `Undecodable`."""
        stream = _Stream(_decode_state(state) if state else _State(), message_id(record) or "")
        for data in _responses(DONE if record.value is None else record.value):
            if data == DONE:
                stream.end()
            else:
                stream.read(read_object(data, "a GenerateContentResponse"))
        return _encode_state(stream.state) if stream.state.open else b"", stream.chunks


def _responses(value: bytes) -> Iterator[bytes]:
    """The responses of a record; in a streamed array, those between its brackets and commas."""
    value = value.strip()
    if value == DONE or (value[:1] not in _ARRAY and not (value.startswith(b"{") and value[-1:] in _ARRAY)):
        yield from payloads(value)
        return
    check_depth(value, "elements of an array")
    try:
        yield from map(bytes, msgspec.json.decode(b"[%b]" % value.strip(_AROUND), type=list[msgspec.Raw]))
    except (msgspec.DecodeError, RecursionError) as problem:
        raise Undecodable(f"not elements of an array: {problem}") from problem


class _Stream:
    """A stream of responses, and the chunks of a record."""

    def __init__(self, state: _State, default_id: str) -> None:
        self.state = state
        self.chunks: list[Chunk] = []
        self._default_id = default_id
        self._model: str | None = None

    def read(self, response: Json) -> None:
        """Read one response."""
        if not _KNOWN & response.keys():
            raise Undecodable(f"not a GenerateContentResponse: it has none of {', '.join(sorted(_KNOWN))}")
        self._identify(identity_of(response.get("responseId")))
        usage = object_of(response.get("usageMetadata"))
        check_plain(usage, "usage")
        self._model = model_of(response.get("modelVersion"))
        for raw in list_of(response.get("candidates")):
            self._candidate(object_of(raw))
        if response.get("error"):
            self._fail(error_of(response["error"]), status_of(object_of(response["error"]).get("code")))
        elif (blocked := object_of(response.get("promptFeedback"))).get("blockReason"):
            self._block(blocked, usage)
        elif usage:
            self._count(usage)

    def end(self) -> None:
        """End the open message, if any."""
        for candidate in self.state.candidates:
            self._complete(candidate)
            if not candidate.silent:
                self._put(candidate, end=True)
        self.state = _State()

    def _identify(self, wanted: str) -> None:
        if wanted and wanted != self.state.id:
            if self.state.id:
                self.end()
            self.state.id = wanted

    def _put(self, candidate: _Candidate, **fields: Any) -> None:
        named, model = self.state.id or self._default_id or None, self._model if candidate.silent else None
        self.state.open, candidate.silent = True, False
        self.chunks.append(Chunk(message_id=named, choice=candidate.index, model=model, **fields))

    def _known(self, index: int) -> _Candidate:
        for candidate in self.state.candidates:
            if candidate.index == index:
                return candidate
        if len(self.state.candidates) == CHOICES:
            raise Undecodable(f"an answer has more than {CHOICES} candidates")
        self.state.candidates.append(_Candidate(index))
        return self.state.candidates[-1]

    def _candidate(self, raw: Json) -> None:
        candidate = self._known(index_of(raw.get("index")))
        for part in list_of(object_of(raw.get("content")).get("parts")):
            self._part(candidate, object_of(part))
        for kind in ("groundingMetadata", "citationMetadata"):
            if said := raw.get(kind):
                self._other(candidate, kind, said)
        if reason := text_of(raw.get("finishReason")):
            self._complete(candidate)
            candidate.finished = True
            self._put(candidate, finish_reason=reason, open={} if candidate.silent else None)

    def _part(self, candidate: _Candidate, part: Json) -> None:
        text = text_of(part.get("text"))
        if text:
            self._put(candidate, **{"reasoning" if part.get("thought") is True else "delta": text})
        if signature := text_of(part.get("thoughtSignature")):
            self._other(candidate, "signature", signature)
        if isinstance(part.get("functionCall"), dict):
            self._call(candidate, part["functionCall"])
        for kind, value in part.items():
            if kind not in _ITS_OWN:
                self._other(candidate, kind, value)

    def _other(self, candidate: _Candidate, kind: str, value: Any) -> None:
        check_plain(value, kind)
        self._put(candidate, part=ProviderPart(kind, value))

    def _call(self, candidate: _Candidate, raw: Json) -> None:
        """Read a whole call, or a piece of one; `willContinue` marks one that is not complete."""
        check_plain(raw, "functionCall")
        partial, more = candidate.partial, raw.get("willContinue") is True
        if partial is None and not more and "partialArgs" not in raw:
            self._whole(candidate, text_of(raw.get("id")), text_of(raw.get("name")), object_of(raw.get("args")))
            return
        if partial is not None and (name := text_of(raw.get("name"))) and name != partial.name:
            self._complete(candidate)
            partial = None
        if partial is None:
            partial = candidate.partial = PartialCall(text_of(raw.get("id")), text_of(raw.get("name")))
        self.state.open = True
        partial.add(list_of(raw.get("partialArgs")))
        if not more:
            self._complete(candidate)

    def _complete(self, candidate: _Candidate) -> None:
        """Complete a call that came in pieces."""
        partial, candidate.partial = candidate.partial, None
        if partial is not None:
            self._whole(candidate, partial.id, partial.name, partial.arguments)

    def _whole(self, candidate: _Candidate, call_id: str, name: str, arguments: Json) -> None:
        named = {"id": call_id} if call_id else {}
        function = {"name": name, "arguments": msgspec.json.encode(arguments).decode()}
        self._put(candidate, tool_calls=[{"index": candidate.calls, **named, "function": function}])
        candidate.calls += 1

    # Ends

    def _count(self, usage: Json) -> None:
        candidates = [candidate for candidate in self.state.candidates if not candidate.silent]
        for candidate in candidates:
            self._put(candidate, usage=usage)
        if candidates and all(candidate.finished for candidate in candidates):
            self.end()

    def _block(self, feedback: Json, usage: Json) -> None:
        check_plain(feedback, "promptFeedback")
        candidate = self._known(0)
        self._put(candidate, open={}, part=ProviderPart("promptFeedback", feedback), usage=usage or None)
        self._put(candidate, finish_reason=text_of(feedback["blockReason"]) and "content_filter")
        self.end()

    def _fail(self, message: str, status: int | None) -> None:
        for candidate in [candidate for candidate in self.state.candidates if not candidate.silent] or [_Candidate(0)]:
            self._put(candidate, error=message, error_status=status, finish_reason="error", end=True)
        self.state = _State()


GEMINI = GeminiCodec()
