"""A provider's stream as it came: which records its bytes become, and how it ends if it breaks off.

Rules of this file, which are those of `client.publish_stream`:

1. The records of a body share the header `tm-stream`, so that answers of a conversation may stream side by side, and
   `tm-message-id`, which counts where the provider gives its answer no id. A null value ends the stream.
2. The codec runs here as in the worker. So the messages that the body opens are known: options go, as `tm-open`, on the
   records that may open one; and a message that broke off can be ended under the provider's id.
3. When a stream breaks off, its answer ends as failed, and then the stream ends: by a null value that counts only if no
   record came since, as for an idle stream, so that half an event is not a second failure.
"""

from enum import Enum, auto
from typing import Any
from uuid import uuid4

import msgspec

from tokenmill.codecs import Codec, cut_anywhere, find_codec
from tokenmill.codecs.sse_stream import PREFIX
from tokenmill.errors import UnknownCodec
from tokenmill.gateway.ingest.native_chunks import NATIVE, Valued, check_chunk, failure
from tokenmill.gateway.ingest.open_choices import OpenChoices
from tokenmill.gateway.ingest.options_compiler import BodyOptions
from tokenmill.gateway.problems import BAD_REQUEST, UNKNOWN_CODEC, UNSUPPORTED, Refused, shown
from tokenmill.partition.idle import Condition, stream_end
from tokenmill.records import Headers, InputRecord

JSON = "application/json"
LINES = frozenset({"application/x-ndjson", "application/jsonl"})
EVENT_STREAM = "text/event-stream"


class Cut(Enum):
    """How a body is cut into records."""

    WHOLE = auto()
    LINES = auto()
    ANYWHERE = auto()


def how_to_read(content_type: str, name: str | None) -> tuple[Cut, Codec]:
    """Return how a body becomes records: `name` is the codec in the address. Raises `Refused`.

    A plus sign in an address means a blank, and no codec has one in its name.
    """
    name = name.replace(" ", "+") if name is not None else None
    if name is None and content_type not in {JSON, *LINES}:
        raise Refused(BAD_REQUEST, "name the codec of the body, such as codec=sse+openai; `tokenmill codecs` lists all")
    try:
        codec = find_codec(name or "native")
    except UnknownCodec as problem:
        raise Refused(UNKNOWN_CODEC, f"codec is {shown(name or '')}; `tokenmill codecs` lists all") from problem
    if cut_anywhere(codec):
        return Cut.ANYWHERE, codec
    if content_type == EVENT_STREAM:
        return Cut.ANYWHERE, find_codec(PREFIX + codec.name)
    if content_type in LINES:
        return Cut.LINES, codec
    if content_type == JSON:
        return Cut.WHOLE, codec
    raise Refused(
        UNSUPPORTED,
        f"a record of {codec.name} is a whole event: send {EVENT_STREAM}, "
        f"application/x-ndjson with one event in each line, or {JSON} with one event",
    )


class RawStream:
    """The stream in one body.

    Args:
        brought: checks options that the body brings.
        codec: the codec of its records.
        conversation: the conversation of its answers.
        message_id: the answer's id where the provider gives none; default: random.
        options: options that its messages open with.
        tracing: headers of all records.
    """

    def __init__(
        self,
        brought: BodyOptions,
        codec: Codec,
        conversation: str,
        *,
        message_id: str | None = None,
        options: dict[str, Any] | None = None,
        tracing: Headers = (),
    ) -> None:
        self._brought = brought
        self._codec = codec
        self._conversation = conversation
        self._default_id = message_id or uuid4().hex
        self._options = options
        self._tracing = tracing
        self._stream = uuid4().hex.encode()
        self._state = b""
        named = (("tm-codec", codec.name), ("tm-message-id", self._default_id))
        self._headers = [("tm-stream", self._stream), *((name, text.encode()) for name, text in named), *tracing]
        self._tm_open = [("tm-open", msgspec.json.encode(options))] if options else []
        self.unended = OpenChoices()

    @property
    def message_id(self) -> str:
        """Id of the answer, or of the first one if there are several."""
        return self.unended.message_id or self._default_id

    async def record(self, value: bytes) -> Valued:
        """Return the record of the next bytes. Raises `RecordError` and `Refused`."""
        record = InputRecord("", 0, 0, 0, self._conversation.encode(), value, self._headers)
        self._state, chunks = self._codec.decode(self._state, record)
        for chunk in chunks:
            await check_chunk(chunk, self._conversation, self._brought)
        opening = [self.unended.note(chunk) for chunk in chunks]
        return value, [*self._headers, *self._tm_open] if any(opening) else self._headers

    def end(self) -> Valued:
        """Return the record that ends the stream. It completes an unfinished line, which may be the first."""
        return None, self._headers if self.unended.began else [*self._headers, *self._tm_open]

    def broken_off(self, why: str, last: int | None) -> list[Valued]:
        """Return the records that end it early; `last` is the offset of its last record, None if that is not known."""
        native = [NATIVE, *self._tracing]
        ends: list[Valued] = [(failure(message_id, choice, why), native) for message_id, choice in self.unended]
        if not self.unended.began:
            ends = [(failure(self._default_id, 0, why, self._options or {}), native)]
        if last is not None:
            place = self._codec.name, self._conversation.encode(), self._stream
            end = stream_end(place, self._default_id.encode(), Condition(last=last))
            ends.append((end.value, end.headers))
        return ends
