"""Lines of a program's output, as they come, each of a bounded length."""

from collections.abc import Iterator
from typing import NamedTuple

HEAD = 256
"""Bytes of a line that is too long that are kept of its beginning, and as many of its end."""


class Line(NamedTuple):
    """A line, without its end."""

    data: bytes
    cut: bool = False
    """It was longer than allowed: the middle is missing."""
    ended: bool = True
    """It had an end; else there was nothing more."""


class LineReader:
    """Bytes in, lines out. What is read of a line that is too long is let go of at once."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._held = bytearray()
        self._head = b""
        """Of a line that is too long, once it is."""

    def feed(self, data: bytes) -> Iterator[Line]:
        """The lines that end in this piece."""
        begin = 0
        while (end := data.find(b"\n", begin)) >= 0:
            self._hold(data[begin:end])
            yield self._line()
            begin = end + 1
        self._hold(data[begin:])

    def rest(self) -> Iterator[Line]:
        """What came behind the last end of a line."""
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
