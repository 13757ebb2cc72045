"""Codec `bedrock`: the events of Amazon Bedrock's ConverseStream, decoded.

Rules of this file:

1. A record is one event in the shape of the SDKs: a JSON object whose key is its type. Unknown keys are ignored.
2. There are no ids: the message is the conversation's unnamed one, or that of the header `tm-message-id`.
   `messageStart` opens it, or content if that is missing. Blocks of text need no start.
3. A block of `toolUse` is a call, whose input comes in pieces; other blocks are parts as they begin.
4. `messageStop` gives the reason. `metadata`, which comes last, gives the counts of tokens and ends the message. So do
   an exception, another `messageStart`, and a null value, which means that nothing follows.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from tokenmill.codecs.answer import Answer
from tokenmill.codecs.chunk import Chunk
from tokenmill.codecs.message_id import message_id
from tokenmill.codecs.payloads import index_of, object_of, text_of
from tokenmill.codecs.plain import read_object
from tokenmill.errors import Undecodable
from tokenmill.records import InputRecord, Record

Json: TypeAlias = dict[str, Any]

_EXCEPTION = "Exception"
"""Suffix of the keys of failures."""

_OPEN = b"open"
"""The state while a message has not ended."""


class BedrockCodec:
    """Bedrock's events; the state is whether a message is open."""

    name = "bedrock"
    summary = "events of Amazon Bedrock's ConverseStream as SDKs decode them, one per record; metadata ends the message"
    sample: Sequence[InputRecord] = tuple(
        InputRecord("tokens", 0, offset, 1_760_000_000_000 + offset, b"c1", value)
        for offset, value in enumerate(
            (
                b'{"messageStart":{"role":"assistant"}}',
                b'{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"Hello"}}}',
                b'{"contentBlockStop":{"contentBlockIndex":0}}',
                b'{"messageStop":{"stopReason":"end_turn"}}',
                b'{"metadata":{"usage":{"inputTokens":5,"outputTokens":1,"totalTokens":6},"metrics":{"latencyMs":42}}}',
            )
        )
    )

    def decode(self, state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
        """The chunks of a record, all or none. Raises `Undecodable`."""
        answer = Answer(message_id(record) or "", is_open=bool(state))
        if record.value is None:
            answer.end()
        elif record.value.strip():
            _Event(answer).read(read_object(record.value, "an event of ConverseStream"))
        return _OPEN if answer.open else b"", answer.chunks


class _Event:
    """An event, and the answer that it adds to."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def read(self, event: Json) -> None:
        """Read each of its keys."""
        if not event:
            raise Undecodable("not an event of ConverseStream: it is empty")
        for key, body in event.items():
            said = object_of(body)
            match key:
                case "messageStart":
                    self.answer.end()
                    self.answer.put(open={})
                case "contentBlockStart":
                    self._start(index_of(said.get("contentBlockIndex")), object_of(said.get("start")))
                case "contentBlockDelta":
                    self._delta(index_of(said.get("contentBlockIndex")), object_of(said.get("delta")))
                case "messageStop":
                    self._stop(said)
                case "metadata":
                    self._metadata(said)
                case _ if key.endswith(_EXCEPTION):
                    self.answer.fail(f"{key}: {text_of(said.get('message'))}".removesuffix(": "))

    def _start(self, index: int, start: Json) -> None:
        for kind, body in start.items():
            use = object_of(body)
            if kind == "toolUse" and use.get("type") != "server_tool_use":
                self.answer.call(index, id=text_of(use.get("toolUseId")), name=text_of(use.get("name")))
            else:
                self.answer.part(kind, body)

    def _delta(self, index: int, delta: Json) -> None:
        for kind, body in delta.items():
            if kind == "text" and isinstance(body, str):
                if body:
                    self.answer.put(delta=body)
            elif kind == "toolUse":
                if piece := text_of(object_of(body).get("input")):
                    self.answer.call(index, arguments=piece)
            elif kind == "reasoningContent":
                self._reasoning(object_of(body))
            else:
                self.answer.part(kind, body)

    def _reasoning(self, said: Json) -> None:
        if text := text_of(said.get("text")):
            self.answer.put(reasoning=text)
        self.answer.part("signature", said.get("signature"))
        self.answer.part("redacted_thinking", said.get("redactedContent"))

    def _stop(self, said: Json) -> None:
        asked_for = object_of(said.get("additionalModelResponseFields"))
        reason, stop = text_of(said.get("stopReason")), text_of(asked_for.get("stop_sequence"))
        opens: Json | None = None if self.answer.open else {}
        self.answer.put(open=opens, finish_reason=reason or None, stop_sequence=stop or None)

    def _metadata(self, said: Json) -> None:
        self.answer.end(usage=self.answer.usage(object_of(said.get("usage"))) or None)


BEDROCK = BedrockCodec()
