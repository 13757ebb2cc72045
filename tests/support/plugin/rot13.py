"""Codec `rot13`: text in the oldest of ciphers; a null value ends the message."""

from codecs import encode
from collections.abc import Sequence

from tokenmill.codecs.chunk import Chunk
from tokenmill.records import InputRecord, Record


class Rot13Codec:
    name = "rot13"
    summary = "text in the oldest of ciphers"
    sample = (InputRecord("tokens", 0, 0, 0, b"c1", b"Uryyb"), InputRecord("tokens", 0, 1, 0, b"c1", None))

    def decode(self, state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
        if record.value is None:
            return state, (Chunk(end=True),)
        return state, (Chunk(delta=encode(record.value.decode(), "rot13")),) if record.value else ()


ROT13 = Rot13Codec()
