"""Lines out of bytes that are cut anywhere. Each byte is looked at once; what waits for its end is capped."""

from collections.abc import Iterator

from tokenmill.errors import TokenmillError


class LineTooLong(TokenmillError):
    """A line is longer than the cap."""


class Lines:
    """The lines of one body. They end with LF or CRLF; the last one need not end."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._pieces: list[bytes] = []
        self._size = 0
        self.number = 0
        """Of the line that was given out last, from 1; blank ones count."""

    @property
    def unfinished(self) -> bool:
        """Whether a line has begun and not ended."""
        return self._size > 0

    def feed(self, more: bytes) -> Iterator[bytes]:
        """The lines that more bytes complete, without their ends and without blank ones. Raises `LineTooLong`."""
        *whole, rest = more.split(b"\n")
        for part in whole:
            if line := self._ended(part):
                yield line
        self._keep(rest)

    def last(self) -> bytes:
        """What stands behind the last line end; empty if that was the end."""
        return self._ended(b"") if self.unfinished else b""

    def _ended(self, part: bytes) -> bytes:
        self._keep(part)
        self.number += 1
        line = b"".join(self._pieces)
        self._pieces, self._size = [], 0
        return line.removesuffix(b"\r").strip(b" \t")

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._cap:
            raise LineTooLong(f"line {self.number + 1} is longer than {self._cap} bytes")
        if part:
            self._pieces.append(part)
