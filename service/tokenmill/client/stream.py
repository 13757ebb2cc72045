"""Publishes a whole answer as it streams: from an SDK of OpenAI or Anthropic, from raw bytes, or from any strings.

1. Strings are model text and become native chunks. All other items are published as they are, in the codec of their
   provider, one record for each.
2. All records of an answer have the same header `tm-stream`, so that several answers of a conversation may stream at
   the same time, and `tm-message-id`, the id of an answer that has none from its provider.
3. The codec runs here as in the worker until it names the message, so that the id is known. The options are in a native
   chunk that opens the message, before the record that names it. For bytes and lines, and if the codec is not known
   here, they are in the header `tm-open` of every record instead, as any of these may open the message.
4. At the end, a record with a null value ends the codec's stream. If the source fails, or is cancelled, the answer ends
   as failed or cancelled, under the provider's id if it gave one.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterable, Collection, Iterable, Mapping
from contextlib import aclosing, suppress
from typing import Any, TypeAlias
from uuid import uuid4

from tokenmill.client.publish import Publisher
from tokenmill.codecs import Codec, find_codec
from tokenmill.conversion import record_bytes
from tokenmill.dialects.json_text import json_bytes
from tokenmill.errors import RecordError, Unavailable, UnknownCodec
from tokenmill.parser.parser import UPSTREAM_CHARS
from tokenmill.records import InputRecord
from tokenmill.sources import close_source

log = logging.getLogger(__name__)

Source: TypeAlias = AsyncIterable[Any] | Iterable[Any]

TEXT = "text"
"""Name that stands for strings in place of a codec's."""

NATIVE = "native"
"""The only codec whose stream is not ended by a null value."""

_Raw: TypeAlias = bytes | bytearray | memoryview | str

_END = object()
"""Stands for the end of a source that is iterated in a thread."""

_REPEATS = ("content.", "refusal.", "logprobs.", "tool_calls.")
"""Beginnings of the types of events by which OpenAI's SDK repeats the content of a chunk."""


async def publish_stream(
    publisher: Publisher,
    conversation_id: str,
    source: Source,
    *,
    codec: str | None = None,
    message_id: str | None = None,
    open: Mapping[str, Any] | None = None,  # noqa: A002 -- the field's name in a chunk
    headers: Iterable[tuple[str, bytes]] = (),
) -> None:
    """Publish an answer, and wait until all of it is acknowledged.

        stream = await AsyncOpenAI().chat.completions.create(model=…, messages=…, stream=True)
        await publish_stream(publisher, "conversation-7", stream, open={"tools": tools})

    Args:
        publisher: an entered `Publisher`.
        conversation_id: key of the records.
        source: an iterable, asynchronous or not, of strings, of objects of the SDKs of OpenAI (chat completions,
            Responses) and Anthropic, or of dictionaries or bytes of the named `codec`. A single string, dictionary or
            bytes object is an answer of one item. An iterator that is not asynchronous is advanced in a thread, as it
            may block.
        codec: required for dictionaries and bytes; for objects of an SDK it is known.
        message_id: the answer's id if the provider gives none; default: random.
        open: options of the message.
        headers: headers of every record; `traceparent` and `tracestate` are on all outputs of the message, too.

    An asynchronous source is always closed. Raises the errors of the source, `TypeError` for an item whose codec is not
    known, and `Unavailable` if Kafka refuses a record or does not answer.
    """
    answer = _Answer(publisher, conversation_id, codec, message_id or uuid4().hex, dict(open or {}), list(headers))
    try:
        async with aclosing(_each(source)) as items:
            async for item in items:
                await answer.put(item)
    except asyncio.CancelledError:
        try:
            await answer.fail({"control": "cancel"})
        except Unavailable as problem:  # the cancellation itself is raised
            log.warning("an answer of conversation %r was cancelled, but is still open: %s", conversation_id, problem)
        raise
    except Exception as problem:
        why = f"{type(problem).__name__}: {problem}"[:UPSTREAM_CHARS]  # events have no more, and it must fit a record
        await answer.fail({"error": why, "finish_reason": "error", "end": True})
        raise
    await answer.end()


async def _each(source: Source) -> AsyncGenerator[Any]:
    if isinstance(source, AsyncIterable):
        items = aiter(source)
        try:
            async for item in items:
                yield item
        finally:
            await close_source(source, items)
    elif isinstance(source, Collection):  # iterating it can't block
        for item in (source,) if isinstance(source, _Raw | Mapping) else source:
            yield item
    else:
        blocking = iter(source)
        while (item := await asyncio.to_thread(next, blocking, _END)) is not _END:
            yield item


class _Answer:
    """Publishes the items of one answer."""

    def __init__(
        self,
        publisher: Publisher,
        conversation_id: str,
        codec: str | None,
        message_id: str,
        options: dict[str, Any],
        headers: list[tuple[str, bytes]],
    ) -> None:
        self._publisher = publisher
        self._conversation_id = conversation_id
        self._codec = codec
        self._stream = uuid4().hex
        self._default_id = message_id
        self._message_id = ""
        """The message's id; empty until a record names it."""
        self._open: dict[str, Any] | None = options
        """The options; None once they were sent."""
        self._opening: list[tuple[str, bytes]] = []
        """The options as a header of every record, if they are sent so."""
        self._headers = headers
        self._reader: _Reader | None = None

    async def put(self, item: Any) -> None:
        """Publish one item of the source."""
        item = getattr(item, "chunk", item)  # an event of OpenAI's own accumulator has the chunk that it was made from
        self._codec = self._codec or _codec_of(item)
        if isinstance(item, str) and self._codec == TEXT:
            await self._native({"delta": item})
        elif not _is_repeat(item):
            value = record_bytes(item)
            await self._begin(value, raw=isinstance(item, _Raw))
            await self._send(value)

    async def end(self) -> None:
        """End the answer, as the source is at its end. Wait until all of it is acknowledged."""
        if self._codec == TEXT or self._codec is None:
            await self._native({"finish_reason": "stop", "end": True})
        await self._end_stream()
        await self._publisher.flush(self._conversation_id)

    async def fail(self, fields: Mapping[str, Any]) -> None:
        """End the answer by a native chunk with these fields, as the source broke off.

        The message's id may be in data that the codec still holds back.
        """
        if self._reader is not None and not self._message_id:
            self._message_id = self._reader.message_id_of(None)
        await self._native(fields)
        await self._end_stream()
        await self._publisher.flush(self._conversation_id)

    async def _begin(self, value: bytes, *, raw: bool) -> None:
        """Open the message with its options, before the first record of the provider that names it."""
        if self._message_id:
            return
        if self._reader is None:
            self._reader = _Reader(self._codec or "", self._conversation_id, self._default_id)
            if self._open and (raw or not self._reader.known):
                self._opening = [("tm-open", json_bytes(self._open))]
        self._message_id = self._reader.message_id_of(value)
        if self._message_id and self._open and not self._opening:
            await self._native({})
        elif self._message_id:
            self._open = None

    async def _native(self, fields: Mapping[str, Any]) -> None:
        opening, self._open = {"open": self._open} if self._open is not None else {}, None
        named = {"message_id": self._message_id or self._default_id}
        value = json_bytes({**named, **opening, **fields})
        await self._publisher.send(self._conversation_id, value, [("tm-codec", NATIVE.encode()), *self._headers])

    async def _end_stream(self) -> None:
        """End the codec's stream in the worker, and so the message, if it is still open."""
        if self._codec not in (None, TEXT, NATIVE):
            await self._send(None)

    async def _send(self, value: bytes | None) -> None:
        headers = {"tm-codec": self._codec or "", "tm-stream": self._stream, "tm-message-id": self._default_id}
        pairs = [(name, content.encode()) for name, content in headers.items()]
        await self._publisher.send(self._conversation_id, value, [*pairs, *self._headers, *self._opening])


class _Reader:
    """Runs the codec of an answer as the worker does, to find the message's id."""

    def __init__(self, codec: str, conversation_id: str, default_id: str) -> None:
        self._key = conversation_id.encode()
        self._default_id = default_id
        self._state = b""
        self._codec: Codec | None = None
        """The codec; None if it is not known here: it may be a plug-in of the workers."""
        with suppress(UnknownCodec):
            self._codec = find_codec(codec)

    @property
    def known(self) -> bool:
        """Whether the codec is known here."""
        return self._codec is not None

    def message_id_of(self, value: bytes | None) -> str:
        """Return the id of the message that a record has chunks of; empty if it has none."""
        if self._codec is None:
            return ""
        record = InputRecord("", 0, 0, 0, self._key, value, [("tm-message-id", self._default_id.encode())])
        try:
            self._state, chunks = self._codec.decode(self._state, record)
        except RecordError:  # the worker rejects the record, and reports it
            return ""
        return next((chunk.message_id or self._default_id for chunk in chunks), "")


def _codec_of(item: Any) -> str:
    """Return the codec's name for an item, by the package of its class. Raises `TypeError`."""
    if isinstance(item, str):
        return TEXT
    package = type(item).__module__.partition(".")[0]
    if package == "anthropic":
        return "anthropic"
    if package == "openai":
        return "openai" if hasattr(item, "choices") else "openai_responses"
    raise TypeError(f"the provider of a {type(item).__qualname__} is not known; name its `codec`")


def _is_repeat(item: Any) -> bool:
    """Whether an item is an event by which OpenAI's SDK repeats the content of a chunk."""
    return not isinstance(item, Mapping) and getattr(item, "type", "").startswith(_REPEATS)
