"""Read model text as it comes: from a file, or from a pipe with a slow writer."""

import asyncio
import os
import stat
from codecs import getincrementaldecoder
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from rich.progress import DownloadColumn

from tokenmill.errors import FatalError
from tokenmill.terminal.console import Terminal, watched
from tokenmill.terminal.progress import progress_bar

READ_BYTES = 64 * 1024


def pieces_of(file: BinaryIO, chars: int | None) -> Iterator[str]:
    """Yield text in pieces of `chars` characters, the last of each read may be shorter; None: as it comes.

    Bytes that are not UTF-8 become U+FFFD.
    """
    decoder = getincrementaldecoder("utf-8")("replace")
    while data := _some(file):
        yield from _cut(decoder.decode(data), chars)
    yield from _cut(decoder.decode(b"", final=True), chars)


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Return the lines that are not blank, with their ends."""
    return (line for line in file if line.strip())


async def coming_pieces(file: BinaryIO, chars: int | None) -> AsyncIterator[str]:
    """Do the same as `pieces_of` in an event loop, which runs other tasks while nothing comes."""
    decoder = getincrementaldecoder("utf-8")("replace")
    async for block in _coming(file):
        for piece in _cut(decoder.decode(block), chars):
            yield piece
    for piece in _cut(decoder.decode(b"", final=True), chars):
        yield piece


async def coming_lines(file: BinaryIO) -> AsyncIterator[bytes]:
    """Do the same as `lines_of` in an event loop, which runs other tasks while nothing comes."""
    kept = bytearray()
    async for block in _coming(file):
        kept += block
        if b"\n" in block:
            end = kept.rindex(b"\n") + 1
            whole = BytesIO(kept[:end])
            del kept[:end]
            for line in lines_of(whole):
                yield line
    for line in lines_of(BytesIO(kept)):
        yield line


def refuse(codec: str, rejected: Sequence[str]) -> None:
    """Raise `FatalError` with all records that the codec could not read, if there are any."""
    if rejected:
        raise FatalError("\n  ".join([f"these are not records of the codec {codec}:", *rejected]))


@contextmanager
def reading_bar(file: BinaryIO) -> Iterator[None]:
    """Show how much of a regular file has been read, if that takes long and shows no other output.

    The position comes from the system, so reading pays nothing for it.
    """
    size = _size(file)
    if size is None or watched(Terminal()):
        yield
        return
    with progress_bar(figures=DownloadColumn, where=lambda: os.lseek(file.fileno(), 0, os.SEEK_CUR)) as bar:
        bar.at(f"reading {Path(file.name).name}", 0, size)
        yield


def _size(file: BinaryIO) -> int | None:
    """Return the size, or None for pipes and non-files."""
    try:
        status = os.fstat(file.fileno())
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _some(file: BinaryIO) -> bytes:
    """Read what is there, without waiting for a whole block."""
    read: bytes = file.read1(READ_BYTES) if hasattr(file, "read1") else file.read(READ_BYTES)
    return read


async def _coming(file: BinaryIO) -> AsyncIterator[bytes]:
    """Yield blocks as they come. No thread reads them, as a loop waits at its end for threads blocked in a read."""
    await _readable(file)
    while block := _some(file):
        yield block
        await _readable(file)


async def _readable(file: BinaryIO) -> None:
    """Wait until there is something to read, or the end."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    try:
        loop.add_reader(file.fileno(), ready.set)
    except (OSError, NotImplementedError):
        return  # regular files, /dev/null and objects without a descriptor never block; Windows can't tell
    try:
        await ready.wait()
    finally:
        loop.remove_reader(file.fileno())


def _cut(text: str, chars: int | None) -> Iterator[str]:
    step = chars or max(len(text), 1)
    return (text[at : at + step] for at in range(0, len(text), step))
