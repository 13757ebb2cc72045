"""Native chunks as clients write them, checked before they become records, while their writer can still be answered.

A worker would put bad chunks among the dead letters, far from their writer. Chunks that it would take are unchanged.
"""

from typing import Any, TypeAlias

import msgspec

from tokenmill.codecs import Chunk
from tokenmill.codecs.native import NATIVE as NATIVE_CODEC
from tokenmill.codecs.plain import read_object
from tokenmill.errors import BadKey, Undecodable
from tokenmill.gateway.ingest.open_choices import OpenChoices
from tokenmill.gateway.ingest.options_compiler import BodyOptions
from tokenmill.limits import KEY_BYTES
from tokenmill.records import Headers, InputRecord

Valued: TypeAlias = tuple[bytes | None, Headers]
"""Value and headers of a record."""

NATIVE = ("tm-codec", b"native")
"""The header of native records: the topic's own codec may be another one."""


async def read_tm_open(text: str, brought: BodyOptions) -> dict[str, Any]:
    """Return options from outside of a body, in its address or a header. Raises `RecordError` and `Refused`."""
    options = read_object(text.encode(errors="surrogateescape"), "a JSON object of options")
    await brought.check(options)
    return options


async def check_chunk(chunk: Chunk, conversation: str, options: BodyOptions) -> None:
    """Raise `RecordError` for a chunk that no message takes, and `Refused` if there is no time to check it."""
    if chunk.conversation_id not in (None, conversation):
        raise BadKey("conversation_id is not that of the address; leave it out")
    if chunk.message_id and len(chunk.message_id.encode()) > KEY_BYTES:
        raise Undecodable(f"message_id is longer than {KEY_BYTES} bytes")
    if chunk.open is not None:
        await options.check(chunk.open)


def failure(message_id: str | None, choice: int, why: str, options: dict[str, Any] | None = None) -> bytes:
    """Return a chunk that ends a choice as failed, and opens it if need be."""
    chunk = Chunk(message_id=message_id, choice=choice, open=options, error=why, finish_reason="error", end=True)
    return msgspec.json.encode(chunk)


class NativeChunks:
    """The chunks of one body.

    Args:
        brought: checks options that the body brings.
        conversation: the conversation of the chunks.
        message_id: the id for chunks without one; the others must have the same.
        options: options that their messages open with; `open` of a chunk takes precedence.
        tracing: headers of all records.
    """

    def __init__(
        self,
        brought: BodyOptions,
        conversation: str,
        *,
        message_id: str | None = None,
        options: dict[str, Any] | None = None,
        tracing: Headers = (),
    ) -> None:
        self._brought = brought
        self._conversation = conversation
        self._key = conversation.encode()
        self._message_id = message_id
        self._headers = [NATIVE, *tracing]
        self._opening = [*self._headers, ("tm-open", msgspec.json.encode(options))] if options else self._headers
        self.unended = OpenChoices()

    @property
    def message_id(self) -> str | None:
        """Id of their message, or of the first one if there are several; None: the unnamed one."""
        return self.unended.message_id

    async def record(self, line: bytes, seq: int | None = None) -> Valued:
        """Return the record of a chunk, which gets `seq` if it has none. Raises `RecordError` and `Refused`."""
        _, (chunk,) = NATIVE_CODEC.decode(b"", InputRecord("", 0, 0, 0, self._key, line))
        await check_chunk(chunk, self._conversation, self._brought)
        changes: dict[str, Any] = {}
        if self._message_id is not None and chunk.message_id != self._message_id:
            if chunk.message_id:
                raise Undecodable("message_id is not that of the address; leave it out")
            changes["message_id"] = self._message_id
        if seq is not None and chunk.seq is None:
            changes["seq"] = seq
        if changes:
            chunk = msgspec.structs.replace(chunk, **changes)
        headers = self._opening if self.unended.note(chunk) else self._headers
        return msgspec.json.encode(chunk) if changes else line, headers

    def broken_off(self, why: str) -> list[Valued]:
        """Return the records that end the choices that the chunks left open and no writer can continue."""
        return [(failure(message_id, choice, why), self._headers) for message_id, choice in self.unended]
