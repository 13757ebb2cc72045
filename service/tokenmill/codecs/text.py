"""Codec `text`: a record's value is UTF-8 text as the model wrote it, cut anywhere, even inside a character.

The header `tm-message-id` may name the message. A null value ends it; an empty one is empty text. Bytes
that are not UTF-8 become U+FFFD.
"""

from codecs import getincrementaldecoder
from collections.abc import Sequence

from tokenmill.codecs.chunk import Chunk
from tokenmill.codecs.message_id import message_id
from tokenmill.records import InputRecord, Record

_Decoder = getincrementaldecoder("utf-8")


class TextCodec:
    """Plain text; the state is the bytes of an incomplete character."""

    name = "text"
    cut_anywhere = True
    summary = "UTF-8 text, cut anywhere; a null value ends the message; header tm-message-id names it"
    sample: Sequence[InputRecord] = tuple(
        InputRecord("tokens", 0, offset, 1_760_000_000_000 + offset, b"c1", value)
        for offset, value in enumerate((b"Na\xc3", b"\xafve", None))
    )

    def decode(self, state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
        """The record's text, as far as its characters are complete."""
        identity = message_id(record)
        decoder = _Decoder("replace")
        if record.value is None:
            return b"", (Chunk(message_id=identity, delta=decoder.decode(state, final=True), end=True),)
        delta = decoder.decode(state + record.value)
        return decoder.getstate()[0], (Chunk(message_id=identity, delta=delta),) if record.value else ()


TEXT = TextCodec()
