"""Publish a whole answer as it streams: from an SDK of OpenAI or Anthropic, from raw bytes, or from any strings.

1. Strings are model text and become native chunks. Everything else is published as it came, in the codec of its
   provider, one record an item.
2. Records of one answer share the header `tm-stream`, so that answers of a conversation may stream side by side, and
   `tm-message-id`, which counts where the provider gives its answer no id.
3. Options come first, in a native chunk that opens the message which the provider names. Bytes and lines are not looked
   into: there they are in the header `tm-open` of every record, as any of them may be the one that opens.
4. At the end a null value says that nothing follows. A source that fails leaves an answer that failed; one that is
   cancelled, an answer that was.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from typing import Any, TypeAlias
from uuid import uuid4

import msgspec

from tokenmill.client.publish import Publisher

Source: TypeAlias = AsyncIterable[Any] | Iterable[Any]

TEXT = "text"
"""Stands for strings; they are no provider's protocol."""

_ID_HOLDERS = ("message", "response")
"""Where events of some providers keep the id of their answer."""

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
            bytes of the codec that is named.
        codec: needed for dictionaries and bytes; the objects of an SDK say it themselves.
        message_id: of an answer to which its provider gives none; without it a random one.
        open: options of the message.
        headers: of every record; `traceparent` and `tracestate` are on all outputs of the message, too.

    Raises what the source raises, `TypeError` for an item of which the codec is not known, and `Unavailable` when Kafka
    refuses a record or does not answer.
    """
    answer = _Answer(publisher, conversation_id, codec, message_id or uuid4().hex, dict(open or {}), list(headers))
    try:
        async for item in _each(source):
            await answer.put(item)
    except asyncio.CancelledError:
        await answer.fail({"control": "cancel"})
        raise
    except Exception as problem:
        await answer.fail({"error": f"{type(problem).__name__}: {problem}", "finish_reason": "error", "end": True})
        raise
    await answer.end()


async def _each(source: Source) -> AsyncIterator[Any]:
    if isinstance(source, AsyncIterable):
        async for item in source:
            yield item
    else:
        for item in source:
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
        self._open: dict[str, Any] | None = options
        """None: they were sent."""
        self._headers = headers

    async def put(self, item: Any) -> None:
        """One item of the source."""
        item = getattr(item, "chunk", item)  # an event of OpenAI's own accumulator has the chunk that it came from
        self._codec = self._codec or _codec_of(item)
        if isinstance(item, str) and self._codec == TEXT:
            await self._native({"delta": item})
        elif not _says_again(item):
            await self._begin(item)
            await self._send(_value_of(item))

    async def end(self) -> None:
        """The source is at its end."""
        if self._codec == TEXT or self._codec is None:
            await self._native({"finish_reason": "stop", "end": True})
        else:
            await self._send(None)
        await self._publisher.flush()

    async def fail(self, fields: Mapping[str, Any]) -> None:
        """The source broke off."""
        await self._native(fields)
        await self._publisher.flush()

    async def _begin(self, item: Any) -> None:
        """Before the first record of a provider: its message opens with its options."""
        if self._message_id:
            return
        self._message_id = _identity_of(item) or self._default_id
        if self._open and isinstance(item, bytes | bytearray | memoryview | str):
            self._headers.append(("tm-open", msgspec.json.encode(self._open)))
        elif self._open:
            await self._native({})
        self._open = None

    async def _native(self, fields: Mapping[str, Any]) -> None:
        opening, self._open = {"open": self._open} if self._open is not None else {}, None
        named = {"message_id": self._message_id or self._default_id}
        value = msgspec.json.encode({**named, **opening, **fields})
        await self._publisher.send(self._conversation_id, value, [("tm-codec", b"native"), *self._headers])

    async def _send(self, value: bytes | None) -> None:
        headers = {"tm-codec": self._codec or "", "tm-stream": self._stream, "tm-message-id": self._default_id}
        pairs = [(name, content.encode()) for name, content in headers.items()]
        await self._publisher.send(self._conversation_id, value, pairs + self._headers)


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


def _value_of(item: Any) -> bytes:
    """The record of an item."""
    if isinstance(item, bytes | bytearray | memoryview):
        return bytes(item)
    if isinstance(item, str):
        return item.encode(errors="replace")
    if hasattr(item, "model_dump_json"):
        return str(item.model_dump_json(exclude_unset=True)).encode()
    return msgspec.json.encode(item)


def _identity_of(item: Any) -> str:
    """The id that a provider gives its answer; empty where its first item has none."""
    fields = item if isinstance(item, Mapping) else getattr(item, "__dict__", {})
    for name in _ID_HOLDERS:
        inside = fields.get(name)
        if inside is not None:
            fields = inside if isinstance(inside, Mapping) else getattr(inside, "__dict__", {})
            break
    identity = fields.get("id", fields.get("responseId"))
    return identity if isinstance(identity, str) else ""
