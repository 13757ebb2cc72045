"""Read model text as it comes: from a file, or from a pipe whose writer takes its time."""

import os
import stat
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rich.progress import DownloadColumn

from tokenmill.terminal.console import Terminal, watched
from tokenmill.terminal.progress import progress_bar

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


@contextmanager
def reading_bar(file: BinaryIO) -> Iterator[None]:
    """How much of a regular file has been read, where it takes long and nothing else is seen of it.

    The system is asked for the place; reading itself does nothing for it.
    """
    size = _size(file)
    if size is None or watched(Terminal()):
        yield
        return
    with progress_bar(figures=DownloadColumn, where=lambda: os.lseek(file.fileno(), 0, os.SEEK_CUR)) as bar:
        bar.at(f"reading {Path(file.name).name}", 0, size)
        yield


def _size(file: BinaryIO) -> int | None:
    """None where nobody knows: of pipes, and of what is no file at all."""
    try:
        status = os.fstat(file.fileno())
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _some(file: BinaryIO) -> bytes:
    """What is there, without waiting until a whole block is."""
    read: bytes = file.read1(READ_BYTES) if hasattr(file, "read1") else file.read(READ_BYTES)
    return read


def _cut(text: str, chars: int | None) -> Iterator[str]:
    step = chars or max(len(text), 1)
    return (text[at : at + step] for at in range(0, len(text), step))
