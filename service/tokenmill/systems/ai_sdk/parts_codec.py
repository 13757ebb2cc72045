"""Codec `ai_sdk_parts`: a record's value is one stream part of a model of the AI SDK, as JSON.

1. `text-delta` is model text and is parsed in the message's format. `text-start` and `text-end` add nothing.
2. `finish` ends the message. The provider's own word for the reason is kept where it means the same to tokenmill as the
   unified one; otherwise the unified one is used.
3. Every other part, reasoning and the provider's own calls included, becomes a `part` event in its place, unchanged.

The header `tm-message-id` may name the message. A null value ends it; an empty one is ignored.
"""

from collections.abc import Sequence
from typing import Any

from tokenmill.codecs.chunk import Chunk, ProviderPart
from tokenmill.codecs.message_id import message_id
from tokenmill.codecs.payloads import text_of
from tokenmill.codecs.plain import check_plain, read_object
from tokenmill.errors import Undecodable
from tokenmill.finish_reasons import finish_reason
from tokenmill.records import InputRecord, Record

_FRAMING = frozenset({"text-start", "text-end"})


class AiSdkPartsCodec:
    """The parts of a language model's stream; no state is kept."""

    name = "ai_sdk_parts"
    summary = "stream parts of the AI SDK, one JSON object each; header tm-message-id names the message"
    sample: Sequence[InputRecord] = tuple(
        InputRecord("tokens", 0, offset, 1_760_000_000_000 + offset, b"c1", value)
        for offset, value in enumerate(
            (
                b'{"type":"text-delta","id":"0","delta":"Hello"}',
                b'{"type":"source","sourceType":"url","id":"s1","url":"https://example.org"}',
                b'{"type":"finish","finishReason":{"unified":"stop","raw":"end_turn"},"usage":{"totalTokens":2}}',
            )
        )
    )

    def decode(self, state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
        """Return the chunk of one part, if it has content."""
        identity = message_id(record)
        if not record.value:
            return state, (Chunk(message_id=identity, end=True),) if record.value is None else ()
        part = read_object(record.value, "a stream part of the AI SDK")
        kind = part.get("type")
        if not isinstance(kind, str):
            raise Undecodable("a stream part of the AI SDK has a `type`")
        if kind in _FRAMING:
            return state, ()
        if kind == "text-delta":
            return state, (Chunk(message_id=identity, delta=text_of(part.get("delta"))),)
        check_plain(part, "part")
        if kind == "finish":
            return state, (_finish(part, identity),)
        return state, (Chunk(message_id=identity, part=ProviderPart(kind, part)),)


def _finish(part: dict[str, Any], identity: str | None) -> Chunk:
    usage = part.get("usage")
    return Chunk(
        message_id=identity,
        usage=usage if isinstance(usage, dict) else None,
        finish_reason=_reason(part.get("finishReason")),
        end=True,
    )


def _reason(reason: Any) -> str | None:
    """Return the provider's word if it means the same as the unified one; early versions of the SDK send only the
    former.
    """
    if not isinstance(reason, dict):
        return text_of(reason) or None
    unified, raw = text_of(reason.get("unified")), text_of(reason.get("raw"))
    same = finish_reason(raw, called=False) == finish_reason(unified, called=False)
    return (raw if raw and same else unified or raw) or None


AI_SDK_PARTS = AiSdkPartsCodec()
