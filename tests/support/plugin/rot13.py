"""Codec `rot13`: text in the oldest of ciphers; an empty record ends the message."""

from codecs import encode
from collections.abc import Sequence

from tokenmill.codecs import Chunk
from tokenmill.records import InputRecord, Record


class Rot13Codec:
    name = "rot13"
    summary = "text in the oldest of ciphers"
    sample = (InputRecord("tokens", 0, 0, 0, b"c1", b"Uryyb"), InputRecord("tokens", 0, 1, 0, b"c1", None))

    def decode(self, state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
        text = encode((record.value or b"").decode(), "rot13")
        return state, (Chunk(delta=text, end=not record.value),)


ROT13 = Rot13Codec()
