"""Codec `openai`: the `chat.completion.chunk`s that OpenAI and compatible servers stream.

Rules of this file:

1. A record is one chunk: a JSON object, or lines of an SSE stream, of which those with `data:` count.
2. Chunks with the same `id` are one message. A chunk without an id belongs to the message before it in its stream;
   servers that never send one make the conversation's unnamed message, or the one that the header `tm-message-id`
   names. If each chunk has another id, counts at the end belong to the message before, if that is finished.
3. A `finish_reason` finishes a choice, but its usage may follow. So a message ends with the first of: a chunk of usage
   with empty `choices` once all its choices are finished; `[DONE]`; a chunk of another message, if it is finished; an
   error, whatever else its chunk holds; a null value, which means that nothing follows. If none of them comes, it ends
   when it is idle. An answer that was not streamed is a complete message.
4. `[DONE]` ends all finished messages or, if none is, the last message: one stream carries one answer, but answers that
   share a stream by mistake do not cut each other off.
5. A choice without content is opened by its `finish_reason`, so that an empty answer is published, too.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from tokenmill.codecs.chunk import Chunk, ProviderPart
from tokenmill.codecs.message_id import message_id
from tokenmill.codecs.openai_choice import content_of, finish_of, index_of, stop_of
from tokenmill.codecs.openai_token import Token, token_of
from tokenmill.codecs.payloads import DONE, identity_of, model_of, payloads, shown, status_of
from tokenmill.codecs.plain import check_plain, read_object
from tokenmill.errors import Undecodable
from tokenmill.limits import CHOICES
from tokenmill.records import InputRecord, Record

MESSAGES_AT_ONCE = 8
"""Answers that may share one stream: it should be one, and a producer that mixes some does not mix many."""

WHOLE = "chat.completion"
"""The `object` of an answer that was not streamed."""

_FIELDS = frozenset({"choices", "usage", "error", "moderation"})


class _Choice(msgspec.Struct, array_like=True, gc=False):
    index: int
    finished: bool = False
    silent: bool = True
    """Whether no chunk of it has been made."""


class _Message(msgspec.Struct, array_like=True, gc=False):
    """An answer that has not ended."""

    id: str
    choices: list[_Choice] = []

    @property
    def finished(self) -> bool:
        """Whether every choice so far has its finish reason."""
        return bool(self.choices) and all(choice.finished for choice in self.choices)

    def choice(self, index: int) -> _Choice:
        """The choice with that number, known or new. Raises `Undecodable` for one too many."""
        for choice in self.choices:
            if choice.index == index:
                return choice
        if len(self.choices) == CHOICES:
            raise Undecodable(f"an answer has more than {CHOICES} choices")
        self.choices.append(_Choice(index))
        return self.choices[-1]


_encode_state = msgspec.msgpack.Encoder().encode
_decode_state = msgspec.msgpack.Decoder(list[_Message]).decode


class OpenAICodec:
    """Streamed chat completions; the state is the open answers and their progress."""

    name = "openai"
    summary = "OpenAI's chat.completion.chunk, one per record: a JSON object, or a line of SSE; [DONE] ends the message"
    sample: Sequence[InputRecord] = tuple(
        InputRecord("tokens", 0, offset, 1_760_000_000_000 + offset, b"c1", value)
        for offset, value in enumerate(
            (
                b'{"id":"chatcmpl-1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}]}',
                b'{"id":"chatcmpl-1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
                b"data: [DONE]",
            )
        )
    )

    def decode(self, state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
        """The chunks of a record, all or none. Raises `Undecodable`."""
        known = _decode_state(state) if state else []
        token = token_of(record.value) if known else None
        if token is not None and _goes_on(known, token):
            return state, [token.chunk]
        answers = _Answers(known, message_id(record))
        if record.value is None:
            answers.end_all()
        else:
            for data in payloads(record.value):
                if data == DONE:
                    answers.done()
                else:
                    answers.read(read_object(data, "a chat.completion.chunk"))
        return _encode_state(answers.known) if answers.known else b"", answers.chunks


def _goes_on(known: Sequence[_Message], token: Token) -> bool:
    """Whether the token is of a choice that has begun, so that the state does not change."""
    for message in known:
        if message.id == token.id:
            for choice in message.choices:
                if choice.index == token.index:
                    return not choice.silent
    return False


class _Answers:
    """The open answers of one stream, and the chunks of a record."""

    def __init__(self, known: list[_Message], default_id: str | None) -> None:
        self.known = known
        self.chunks: list[Chunk] = []
        self._default_id = default_id or ""

    def read(self, payload: dict[str, Any]) -> None:
        """Read one chunk of the provider."""
        usage = _usage_of(payload)
        choices = [] if payload.get("choices") is None else payload["choices"]
        error = _error_of(payload)
        if not isinstance(choices, list) or (not _FIELDS & payload.keys() and error is None):
            raise Undecodable("not a chat.completion.chunk: it has no list of `choices`")
        if usage is not None and not isinstance(usage, dict):
            raise Undecodable("`usage` is not an object")
        check_plain(usage, "usage")
        message = self._message(payload, choices)
        for choice in choices if error is None else _unfinished(choices):
            self._choice(message, payload, choice, usage or None)
        self._moderation(message, payload.get("moderation"))
        if usage and not choices:
            self._usage(message, usage)
        if payload.get("object") == WHOLE and message.finished:
            self._end(message)
        if error is not None:
            self._fail([message] if payload.get("id") else self.known or [message], error, _status_of(payload))

    def _message(self, payload: dict[str, Any], choices: Sequence[Any]) -> _Message:
        """The message that a chunk belongs to; the first chunk of a new message ends those that are finished."""
        wanted = identity_of(payload.get("id"))
        for message in self.known:
            if wanted and message.id == wanted:
                return message
        last = self.known[-1] if self.known else None
        if last and last.finished and not choices and _usage_of(payload):
            return last  # each chunk has an id of its own
        if not wanted and last and not (choices and last.finished and last.id == self._default_id):
            return last
        message = _Message(wanted or self._default_id)
        if choices:
            for finished in [known for known in self.known if known.finished]:
                self._end(finished)
            self.known = [*self.known, message][-MESSAGES_AT_ONCE:]
        return message

    def _choice(self, message: _Message, payload: dict[str, Any], raw: Any, usage: dict[str, Any] | None) -> None:
        if not isinstance(raw, dict):
            raise Undecodable("a choice is not an object")
        choice, pieces, finish = message.choice(index_of(raw)), content_of(raw), finish_of(raw)
        opens: dict[str, Any] | None = {} if choice.silent and finish and not pieces else None
        choice.silent = choice.silent and not pieces and opens is None
        choice.finished = choice.finished or finish is not None
        if not choice.silent and (usage or finish):
            *pieces, last = pieces or [Chunk()]
            said = {"usage": usage, "finish_reason": finish, "stop_sequence": stop_of(raw)}
            pieces.append(msgspec.structs.replace(last, open=opens, **said))
        model = model_of(payload.get("model"))
        for piece in pieces:
            self._put(message, choice, piece, model)

    def _moderation(self, message: _Message, verdict: Any) -> None:
        if verdict is not None and message.choices:
            check_plain(verdict, "moderation")
            self._put(message, message.choices[0], Chunk(part=ProviderPart("moderation", verdict)))
            message.choices[0].silent = False

    def _usage(self, message: _Message, usage: dict[str, Any]) -> None:
        for choice in message.choices:
            if not choice.silent:
                self._put(message, choice, Chunk(usage=usage))
        if message.finished:
            self._end(message)

    # Ends

    def done(self) -> None:
        """Read the protocol's end mark."""
        for message in [known for known in self.known if known.finished] or self.known[-1:]:
            self._end(message)

    def end_all(self) -> None:
        """End all messages, because nothing follows in this stream."""
        for message in list(self.known):
            self._end(message)

    def _end(self, message: _Message) -> None:
        self.known.remove(message)
        for choice in message.choices:
            if not choice.silent:
                self._put(message, choice, Chunk(end=True))

    def _fail(self, messages: Sequence[_Message], error: str, status: int | None) -> None:
        """End messages with the provider's error; one without choices consists of the error alone."""
        for message in list(messages):
            for choice in message.choices or [_Choice(0)]:
                failed = Chunk(error=error, error_status=status, finish_reason="error", end=True)
                self._put(message, choice, failed)
            if message in self.known:
                self.known.remove(message)

    def _put(self, message: _Message, choice: _Choice, piece: Chunk, model: str | None = None) -> None:
        self.chunks.append(
            msgspec.structs.replace(piece, message_id=message.id or None, choice=choice.index, model=model)
        )


def _usage_of(payload: dict[str, Any]) -> Any:
    """Counts of tokens; Groq has them under a name of its own."""
    own = payload.get("x_groq")
    usage = payload.get("usage")
    return own.get("usage") if usage is None and isinstance(own, dict) else usage


def _error_of(payload: dict[str, Any]) -> str | None:
    """The text of an error frame; None if `error` is null or empty. Old servers send the error instead of a chunk."""
    error = payload if payload.get("object") == "error" else payload.get("error")
    if isinstance(error, dict) and error:
        message = error.get("message")
        return message if isinstance(message, str) and message else shown(error, _json)
    return shown(error) if error else None


def _status_of(payload: dict[str, Any]) -> int | None:
    """The status in an error frame, which replaces that of the response, because it was sent before.

    `code` may also be a word, or the server's own number; some servers write the number as text.
    """
    error = payload.get("error")
    codes = (error.get("code") if isinstance(error, dict) else None, payload.get("code"))
    return next((status for code in codes if (status := status_of(code)) is not None), None)


def _unfinished(choices: Sequence[Any]) -> list[Any]:
    """The choices of a chunk with an error, without their finish reasons, which only repeat it."""
    return [{**raw, "finish_reason": None} if isinstance(raw, dict) else raw for raw in choices]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


OPENAI = OpenAICodec()
