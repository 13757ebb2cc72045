"""Codec `openai_responses`: the events of OpenAI's Responses API.

Rules of this file:

1. A record is one event, as JSON or as lines of SSE, with a `type`. An event whose `sequence_number` is not above the
   last one is a repeat and is ignored, as are events of unknown types.
2. `response.created` opens the message that its id names. Without one, content opens the conversation's unnamed
   message, or the one that the header `tm-message-id` names.
3. Function calls are calls. Items that are neither text nor reasoning nor calls are parts when they are complete.
4. Content that came in deltas is not read again from the event that ends it; content without deltas is.
5. The message ends with `response.completed`, `.incomplete` or `.failed`, with `error`, with the `response.created` of
   another, with `[DONE]` that a proxy adds, and with a null value, which means that nothing follows.
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
    list_of,
    model_of,
    object_of,
    text_of,
)
from tokenmill.errors import Undecodable
from tokenmill.records import InputRecord, Record

Json: TypeAlias = dict[str, Any]

_PARAGRAPH = "\n\n"
"""Separator of the parts of a reasoning summary."""

PLACES = 256
"""Places in open items that may have deltas: calls grow in parallel by the dozen, and so do paragraphs of reasoning."""

STATUSES: Mapping[str, int] = {
    "invalid_prompt": 400,
    "invalid_request_error": 400,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "server_error": 500,
    "vector_store_timeout": 504,
}
"""HTTP status of errors by code or type, which the provider would have sent if the head had not gone out before."""

_SAID = frozenset({"message", "reasoning", "function_call"})
"""Items whose content is not a part."""


class _State(AnswerState, array_like=True, gc=False):
    """The open message."""

    sequence: int = -1
    """`sequence_number` of the last event."""
    fed: list[str] = []
    """Places in open items for which deltas came."""


class OpenAIResponsesCodec:
    """Events of the Responses API; the state is the open message and which of its items grow."""

    name = "openai_responses"
    summary = (
        "events of OpenAI's Responses API, one per record: JSON, or lines of SSE; response.completed ends the message"
    )
    sample: Sequence[InputRecord] = tuple(
        InputRecord("tokens", 0, offset, 1_760_000_000_000 + offset, b"c1", value)
        for offset, value in enumerate(
            (
                b'{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","model":"m"}}',
                b'{"type":"response.output_text.delta","sequence_number":1,"output_index":0,"delta":"Hello"}',
                b'{"type":"response.completed","sequence_number":2,"response":{"id":"resp_1","status":"completed"}}',
            )
        )
    )

    def decode(self, state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
        """The chunks of a record, all or none. Raises `Undecodable`."""
        stream = _Stream(_states, state, record)
        stream.read_record(record.value, "an event of the Responses API")
        return stream.remembered(), stream.answer.chunks


_states = msgspec.msgpack.Decoder(_State)


class _Stream(EventStream[_State]):
    """A stream of events, and the chunks of a record."""

    def read(self, event: Json) -> None:
        """Read one event."""
        sequence = event.get("sequence_number")
        if type(sequence) is int and index_of(sequence) == sequence and event["type"] != "response.created":
            if sequence <= self.state.sequence:
                return
            self.state.sequence = sequence
        if (handle := _HANDLERS.get(event["type"])) is not None:
            handle(self, event)

    def created(self, event: Json) -> None:
        """`response.created`."""
        response = object_of(event.get("response"))
        named = identity_of(response.get("id"))
        if self.answer.open and named == self.state.id:
            return
        self.end()
        self.begin(named)
        self.state.sequence = index_of(event.get("sequence_number"))
        self.answer.put(open={}, model=model_of(response.get("model")))

    # Items

    def added(self, event: Json) -> None:
        """`response.output_item.added`."""
        item, index = object_of(event.get("item")), index_of(event.get("output_index"))
        if item.get("type") == "function_call":
            self._fed(_call_place(index))
            self.answer.call(index, id=text_of(item.get("call_id")), name=text_of(item.get("name")))
            self._arguments(index, text_of(item.get("arguments")))

    def item_done(self, event: Json) -> None:
        """`response.output_item.done`."""
        item, index = object_of(event.get("item")), index_of(event.get("output_index"))
        kind = text_of(item.get("type"))
        if kind == "function_call":
            if _call_place(index) not in self.state.fed:
                self.added(event)
            self._whole_arguments(index, item)
        self._said_at_last(index, item)
        if kind == "reasoning":
            self.answer.part("encrypted_content", item.get("encrypted_content"))
        if kind and kind not in _SAID:
            self.answer.part(kind, item)
        self.state.fed = [place for place in self.state.fed if not place.startswith(f"{index}/")]

    def _said_at_last(self, index: int, item: Json) -> None:
        """Read those texts of an ended item that had no deltas."""
        for field, place in (("summary", "summary_index"), ("content", "content_index")):
            for number, part in enumerate(list_of(item.get(field))):
                said = object_of(part)
                if (handle := _PARTS.get(text_of(said.get("type")))) is not None:
                    handle(self, said | {"output_index": index, place: number})

    def text(self, event: Json) -> None:
        """`response.output_text.delta`."""
        self._fed(_place(event))
        self._say(delta=text_of(event.get("delta")))

    def text_done(self, event: Json) -> None:
        """`response.output_text.done`."""
        if not self._fed(_place(event)):
            self._say(delta=text_of(event.get("text")))

    def refusal(self, event: Json) -> None:
        """`response.refusal.delta`."""
        self._fed(_place(event))
        self.answer.part("refusal", event.get("delta"))

    def refusal_done(self, event: Json) -> None:
        """`response.refusal.done`."""
        if not self._fed(_place(event)):
            self.answer.part("refusal", event.get("refusal"))

    def reasoning(self, event: Json) -> None:
        """`response.reasoning_text.delta`, or that of a summary."""
        self._fed(_place(event))
        self._say(reasoning=text_of(event.get("delta")))

    def reasoning_done(self, event: Json) -> None:
        """`response.reasoning_text.done`, or that of a summary."""
        if not self._fed(_place(event)):
            self._say(reasoning=text_of(event.get("text")))

    def summary_part(self, event: Json) -> None:
        """`response.reasoning_summary_part.added`: a paragraph of its own."""
        if index_of(event.get("summary_index")):
            self._say(reasoning=_PARAGRAPH)

    def annotation(self, event: Json) -> None:
        """`response.output_text.annotation.added`."""
        self.answer.part("annotation", event.get("annotation"))

    def arguments(self, event: Json) -> None:
        """`response.function_call_arguments.delta`."""
        self._arguments(index_of(event.get("output_index")), text_of(event.get("delta")))

    def arguments_done(self, event: Json) -> None:
        """`response.function_call_arguments.done`."""
        self._whole_arguments(index_of(event.get("output_index")), event)

    # Ends

    def completed(self, event: Json) -> None:
        """`response.completed`."""
        self._finish(event, "stop")

    def incomplete(self, event: Json) -> None:
        """`response.incomplete`."""
        details = object_of(object_of(event.get("response")).get("incomplete_details"))
        status = text_of(object_of(event.get("response")).get("status"))
        self._finish(event, text_of(details.get("reason")) or status or "incomplete")

    def failed(self, event: Json) -> None:
        """`response.failed`."""
        error = object_of(event.get("response")).get("error")
        self.answer.fail(error_of(error) if error else "the response failed", _status_of(error))
        self.forget()

    def error(self, event: Json) -> None:
        """`error`: the stream is over."""
        error = event.get("error")
        self.answer.fail(error_of(error or {"message": event.get("message")}), _status_of(error or event))
        self.forget()

    def _finish(self, event: Json, reason: str) -> None:
        usage = self.answer.usage(object_of(object_of(event.get("response")).get("usage")))
        self.answer.end(usage=usage or None, finish_reason=reason)
        self.forget()

    # Content

    def _say(self, **text: str) -> None:
        if any(text.values()):
            self.answer.put(**text)

    def _fed(self, place: str) -> bool:
        """Whether deltas of this place came before; notes that they have now."""
        if place in self.state.fed:
            return True
        if len(self.state.fed) == PLACES:
            raise Undecodable(f"deltas have come for {PLACES} places in items that have not ended")
        self.state.fed.append(place)
        return False

    def _arguments(self, index: int, piece: str) -> None:
        if piece:
            self._fed(_arguments_place(index))
            self.answer.call(index, arguments=piece)

    def _whole_arguments(self, index: int, said: Json) -> None:
        if _arguments_place(index) not in self.state.fed:
            self._arguments(index, text_of(said.get("arguments")))


def _status_of(error: Any) -> int | None:
    """The HTTP status that fits an error, if its code or type is known."""
    words = (text_of(object_of(error).get(name)) for name in ("code", "type"))
    return next((STATUSES[word] for word in words if word in STATUSES), None)


def _place(event: Json) -> str:
    """The place of an event's text in the response: the item, and a part of its content or of its summary."""
    kind = "summary" if "summary_index" in event and "content_index" not in event else "content"
    return f"{index_of(event.get('output_index'))}/{kind}/{index_of(event.get(f'{kind}_index'))}"


def _call_place(index: int) -> str:
    """The place of a call that has begun."""
    return f"{index}/call"


def _arguments_place(index: int) -> str:
    return f"{index}/arguments"


_PARTS: dict[str, Callable[[_Stream, Json], None]] = {
    "output_text": _Stream.text_done,
    "refusal": _Stream.refusal_done,
    "reasoning_text": _Stream.reasoning_done,
    "summary_text": _Stream.reasoning_done,
}
"""Handlers of parts of items that had no event of their own."""

_HANDLERS: dict[str, Callable[[_Stream, Json], None]] = {
    "response.created": _Stream.created,
    "response.output_item.added": _Stream.added,
    "response.output_item.done": _Stream.item_done,
    "response.output_text.delta": _Stream.text,
    "response.output_text.done": _Stream.text_done,
    "response.output_text.annotation.added": _Stream.annotation,
    "response.refusal.delta": _Stream.refusal,
    "response.refusal.done": _Stream.refusal_done,
    "response.reasoning_text.delta": _Stream.reasoning,
    "response.reasoning_text.done": _Stream.reasoning_done,
    "response.reasoning_summary_part.added": _Stream.summary_part,
    "response.reasoning_summary_text.delta": _Stream.reasoning,
    "response.reasoning_summary_text.done": _Stream.reasoning_done,
    "response.function_call_arguments.delta": _Stream.arguments,
    "response.function_call_arguments.done": _Stream.arguments_done,
    "response.completed": _Stream.completed,
    "response.incomplete": _Stream.incomplete,
    "response.failed": _Stream.failed,
    "error": _Stream.error,
}
"""Handlers by type of event; all other types are ignored."""

OPENAI_RESPONSES = OpenAIResponsesCodec()
