"""Publish a whole answer as it streams: from an SDK of OpenAI or Anthropic, from raw bytes, or from any strings.

1. Strings are model text and become native chunks. Everything else is published as it came, in the codec of its
   provider, one record an item.
2. Records of one answer share the header `tm-stream`, so that answers of a conversation may stream side by side, and
   `tm-message-id`, which counts where the provider gives its answer no id.
3. The codec runs here as in the worker until it names the message, so that items before that open no other. Options
   come first, in a native chunk that opens it. With bytes and lines, and where the codec is not known here, they are in
   the header `tm-open` of every record instead, as any of them may be one that opens.
4. At the end a null value says that nothing follows. A source that fails leaves an answer that failed; one that is
   cancelled, an answer that was: under the id that the provider gave it, whatever the source was.
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
"""Stands for strings; they are no provider's protocol."""

NATIVE = "native"
"""The one codec in which a null value says nothing."""

_Raw: TypeAlias = bytes | bytearray | memoryview | str

_END = object()
"""Stands for the end of what is iterated in a thread."""

_SAID_AGAIN = ("content.", "refusal.", "logprobs.", "tool_calls.")
"""What the types of events begin with that say again what a chunk of OpenAI's said."""


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
        source: strings; objects of the SDKs of OpenAI (chat completions, Responses) and Anthropic; dictionaries or
            bytes of the codec that is named. One string, dictionary or piece of bytes is an answer of one item. What
            is iterated without `async` is asked for each item in a thread, as it may wait for a model.
        codec: needed for dictionaries and bytes; the objects of an SDK say it themselves.
        message_id: the answer's id where the provider gives none; default: random.
        open: options of the message.
        headers: of every record; `traceparent` and `tracestate` are on all outputs of the message, too.

    An asynchronous source is closed in any case. Raises what the source raises, `TypeError` for an item of which the
    codec is not known, and `Unavailable` when Kafka refuses a record or does not answer.
    """
    answer = _Answer(publisher, conversation_id, codec, message_id or uuid4().hex, dict(open or {}), list(headers))
    try:
        async with aclosing(_each(source)) as items:
            async for item in items:
                await answer.put(item)
    except asyncio.CancelledError:
        try:
            await answer.fail({"control": "cancel"})
        except Unavailable as problem:  # a cancellation stays one
            log.warning("an answer of conversation %r was cancelled, but is still open: %s", conversation_id, problem)
        raise
    except Exception as problem:
        why = f"{type(problem).__name__}: {problem}"[:UPSTREAM_CHARS]  # no event shows more; a record has to hold it
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
    elif isinstance(source, Collection):  # it is all there
        for item in (source,) if isinstance(source, _Raw | Mapping) else source:
            yield item
    else:
        waited = iter(source)
        while (item := await asyncio.to_thread(next, waited, _END)) is not _END:
            yield item


class _Answer:
    """One answer on its way."""

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
        """Empty: no record has named it."""
        self._open: dict[str, Any] | None = options
        """None: they were sent."""
        self._opening: list[tuple[str, bytes]] = []
        """Options as a header, where they are in every record."""
        self._headers = headers
        self._reader: _Reader | None = None

    async def put(self, item: Any) -> None:
        """One item of the source."""
        item = getattr(item, "chunk", item)  # an event of OpenAI's own accumulator has the chunk that it came from
        self._codec = self._codec or _codec_of(item)
        if isinstance(item, str) and self._codec == TEXT:
            await self._native({"delta": item})
        elif not _says_again(item):
            value = record_bytes(item)
            await self._begin(value, raw=isinstance(item, _Raw))
            await self._send(value)

    async def end(self) -> None:
        """The source is at its end."""
        if self._codec == TEXT or self._codec is None:
            await self._native({"finish_reason": "stop", "end": True})
        await self._nothing_follows()
        await self._publisher.flush(self._conversation_id)

    async def fail(self, fields: Mapping[str, Any]) -> None:
        """The source broke off. What its codec holds back may still be the first that names the message."""
        if self._reader is not None and not self._message_id:
            self._message_id = self._reader.names(None)
        await self._native(fields)
        await self._nothing_follows()
        await self._publisher.flush(self._conversation_id)

    async def _begin(self, value: bytes, *, raw: bool) -> None:
        """Before a record of a provider: the message opens with its options, once the record says which it is."""
        if self._message_id:
            return
        if self._reader is None:
            self._reader = _Reader(self._codec or "", self._conversation_id, self._default_id)
            if self._open and (raw or not self._reader.known):
                self._opening = [("tm-open", json_bytes(self._open))]
        self._message_id = self._reader.names(value)
        if self._message_id and self._open and not self._opening:
            await self._native({})
        elif self._message_id:
            self._open = None

    async def _native(self, fields: Mapping[str, Any]) -> None:
        opening, self._open = {"open": self._open} if self._open is not None else {}, None
        named = {"message_id": self._message_id or self._default_id}
        value = json_bytes({**named, **opening, **fields})
        await self._publisher.send(self._conversation_id, value, [("tm-codec", NATIVE.encode()), *self._headers])

    async def _nothing_follows(self) -> None:
        """What the codec remembers of the stream is over, and with it the message, if it is open."""
        if self._codec not in (None, TEXT, NATIVE):
            await self._send(None)

    async def _send(self, value: bytes | None) -> None:
        headers = {"tm-codec": self._codec or "", "tm-stream": self._stream, "tm-message-id": self._default_id}
        pairs = [(name, content.encode()) for name, content in headers.items()]
        await self._publisher.send(self._conversation_id, value, [*pairs, *self._headers, *self._opening])


class _Reader:
    """The codec of an answer, as the worker runs it: it says under which id the answer goes."""

    def __init__(self, codec: str, conversation_id: str, default_id: str) -> None:
        self._key = conversation_id.encode()
        self._default_id = default_id
        self._state = b""
        self._codec: Codec | None = None
        """None: a plug-in that the workers have."""
        with suppress(UnknownCodec):
            self._codec = find_codec(codec)

    @property
    def known(self) -> bool:
        """Whether the codec is."""
        return self._codec is not None

    def names(self, value: bytes | None) -> str:
        """The id of the message that this record brings something of; empty where it brings nothing."""
        if self._codec is None:
            return ""
        record = InputRecord("", 0, 0, 0, self._key, value, [("tm-message-id", self._default_id.encode())])
        try:
            self._state, chunks = self._codec.decode(self._state, record)
        except RecordError:  # the worker will say so
            return ""
        return next((chunk.message_id or self._default_id for chunk in chunks), "")


def _codec_of(item: Any) -> str:
    """The codec of an item, by the package that its class is from."""
    if isinstance(item, str):
        return TEXT
    package = type(item).__module__.partition(".")[0]
    if package == "anthropic":
        return "anthropic"
    if package == "openai":
        return "openai" if hasattr(item, "choices") else "openai_responses"
    raise TypeError(f"of which provider is a {type(item).__qualname__}? Name its `codec`.")


def _says_again(item: Any) -> bool:
    """Whether it is an event of OpenAI's accumulator that tells what a chunk told."""
    return not isinstance(item, Mapping) and getattr(item, "type", "").startswith(_SAID_AGAIN)
