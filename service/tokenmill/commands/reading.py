"""Read model text as it comes: from a file, or from a pipe whose writer takes its time."""

from codecs import getincrementaldecoder
from collections.abc import Iterator
from typing import BinaryIO

READ_BYTES = 64 * 1024


def pieces_of(file: BinaryIO, chars: int | None) -> Iterator[str]:
    """Text in pieces of `chars` characters, the last of what has come so far may be shorter; None: as it comes.

    Bytes that are not UTF-8 become U+FFFD.
    """
    decoder = getincrementaldecoder("utf-8")("replace")
    while data := _some(file):
        yield from _cut(decoder.decode(data), chars)
    yield from _cut(decoder.decode(b"", final=True), chars)


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Lines that are not blank, their ends included."""
    return (line for line in file if line.strip())


def _some(file: BinaryIO) -> bytes:
    """What is there, without waiting until a whole block is."""
    read: bytes = file.read1(READ_BYTES) if hasattr(file, "read1") else file.read(READ_BYTES)
    return read


def _cut(text: str, chars: int | None) -> Iterator[str]:
    step = chars or max(len(text), 1)
    return (text[at : at + step] for at in range(0, len(text), step))
