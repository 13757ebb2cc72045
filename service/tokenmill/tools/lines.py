"""Lines of a program's output as they come, each of a bounded length."""

from collections.abc import Iterator
from typing import NamedTuple

HEAD = 256
"""Bytes that are kept of the beginning of a line that is too long, and as many of its end."""


class Line(NamedTuple):
    """A line, without its end."""

    data: bytes
    cut: bool = False
    """Whether it was too long: the middle is missing then."""
    ended: bool = True
    """Whether it had an end; only the last line may have none."""


class LineReader:
    """Bytes in, lines out. The middle of a line that is too long is dropped immediately."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._held = bytearray()
        self._head = b""
        """Beginning of a line that is too long."""

    def feed(self, data: bytes) -> Iterator[Line]:
        """Yield the lines that end in this piece."""
        begin = 0
        while (end := data.find(b"\n", begin)) >= 0:
            self._hold(data[begin:end])
            yield self._line()
            begin = end + 1
        self._hold(data[begin:])

    def rest(self) -> Iterator[Line]:
        """Yield what came after the last end of a line."""
        if self._held:
            yield self._line()._replace(ended=False)

    def _hold(self, piece: bytes) -> None:
        self._held += piece
        if len(self._held) > self._longest and not self._head:
            self._head = bytes(self._held[:HEAD])
        if self._head:
            del self._held[:-HEAD]

    def _line(self) -> Line:
        line = Line(self._head + bytes(self._held), cut=bool(self._head))
        self._held, self._head = bytearray(), b""
        return line
