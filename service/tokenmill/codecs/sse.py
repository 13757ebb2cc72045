"""Reading server-sent events from bytes that are cut anywhere, even inside a character or a line end.

Rules of this file, those of the standard where it has one (https://html.spec.whatwg.org/multipage/server-sent-events.html):

1. Lines end with LF, CRLF or CR. A blank line ends an event, whose `data` lines are joined with LF; one space after
   the colon is optional and not part of the value. Comments and fields other than `data` and `event` have no effect.
   Bytes that are not UTF-8 become U+FFFD.
2. Many servers send no blank line after an event of one line. So a reader may decide whether a data line is a whole
   event, which is then returned immediately. Other lines wait for the blank line and are returned together for the
   reader to judge; if a line that is an event comes before it, they are junk and are dropped.
3. A line that begins with a bracket is not SSE: a server sent it instead of a stream. It is returned as it is. If it is
   not JSON, it may be the first of several, which are returned together when they are JSON, or when other lines come.
4. At the end of the stream an unfinished line counts as a line, and an event needs no blank line.
5. Waiting lines are capped; a longer event is returned without its data, so that the reader learns of it.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from tokenmill.codecs.plain import is_too_deep
from tokenmill.limits import KIB

EVENT_BYTES = 256 * KIB
"""Bytes of one event, which may hold a whole call. The part that has arrived is read again with each record, so a
higher cap would slow down a stream that is cut small."""

BARE_CHARS = 16 * KIB
"""Characters of a server's answer that is not SSE, over several lines: it is read again at each possible last line."""

_NAMES = frozenset({"", "data", "event"})
"""Field names of SSE lines; blank lines and comments have an empty one."""

_REST = b":"
"""Beginning that replaces a dropped line, so that the rest of it is a comment."""


class Frame(NamedTuple):
    """One event."""

    name: str
    """Value of the last `event` line; empty if there was none."""
    data: str | None
    """Data of the event; None: it was longer than `EVENT_BYTES`."""
    bare: bool = False
    """It is not SSE but JSON, or was meant to be."""


def whole_events(value: bytes | None) -> list[bytes] | None:
    """The data of the events, if the bytes are whole events of one line each, as servers send them; else None."""
    if not value or not value.startswith(b"data: ") or not value.endswith(b"\n\n") or len(value) > EVENT_BYTES:
        return None
    events = value[6:-2].split(b"\n\ndata: ")
    if value.count(b"\n") != 2 * len(events) or b"\r" in value:  # a further line somewhere
        return None
    return events if _is_utf8(value) else None


def _is_utf8(value: bytes) -> bool:
    if value.isascii():
        return True
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_json(data: str) -> bool:
    """Whether the whole text is a JSON object or array."""
    if not (data.startswith(("{", "[")) and data.rstrip().endswith(("}", "]"))):
        return False
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return not is_too_deep(data)


def _never(_data: str) -> bool:
    return False


class Framing(msgspec.Struct, array_like=True, gc=False):
    """The part of an event that has arrived; equal to a new one between events."""

    line: bytes = b""
    """Beginning of a line."""
    data: list[str] = []
    """Data lines of the event."""
    name: str = ""
    size: int = 0
    """Bytes of `data`, including the names of the fields."""
    too_long: bool = False
    """Whether the event is over the cap, and its data is not kept."""
    returned: bool = False
    """Whether the last line ended with CR, so that its LF may follow."""
    bare: str = ""
    """Lines that are not SSE, and not complete JSON yet."""

    def feed(self, more: bytes, *, whole: Callable[[str], bool] = _never, last: bool = False) -> Iterator[Frame]:
        """The events that more bytes complete; `last`: nothing follows."""
        if not more and not last:
            return
        if self.returned and more:
            more, self.returned = more.removeprefix(b"\n"), False
        *lines, rest = (self.line + more).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self.line = b""
        for line in [*lines, rest, b""] if last else lines:
            yield from self._line(line, whole)
        if last:
            self.returned = False
        else:
            self.line = rest if self._fits(rest) else _REST
            self.returned = more.endswith(b"\r") and self != Framing()

    def _fits(self, line: bytes) -> bool:
        """Whether the event with this line, or its beginning, is below the cap; else its data is dropped."""
        if self.size + len(line) <= EVENT_BYTES:
            return True
        self.too_long, self.data, self.size = True, [], 0
        return False

    def _line(self, raw: bytes, whole: Callable[[str], bool]) -> Iterator[Frame]:
        line = raw.decode(errors="replace").removeprefix("\ufeff")
        field, _, value = line.partition(":")
        if self.bare and (field in _NAMES or is_json(line)):
            yield self._gathered()
        if (self.bare or line.startswith(("{", "["))) and self._fits(raw):
            yield from self._gather(line)
        elif not raw:
            if self.data or self.too_long:
                yield Frame(self.name, None if self.too_long else "\n".join(self.data))
            self._clear()
        elif self._fits(raw):
            if field == "event":
                self.name = value.removeprefix(" ")
            elif field == "data":
                self.size += 0 if self.too_long else len(raw)
                yield from self._data(value.removeprefix(" "), whole)

    def _gather(self, line: str) -> Iterator[Frame]:
        """Add a line that is not SSE."""
        self.bare = f"{self.bare}\n{line}" if self.bare else line
        if is_json(self.bare) or len(self.bare) > BARE_CHARS:
            yield self._gathered()

    def _gathered(self) -> Frame:
        gathered, self.bare = self.bare, ""
        return Frame("", gathered, bare=True)

    def _data(self, value: str, whole: Callable[[str], bool]) -> Iterator[Frame]:
        if not whole(value):
            if not self.too_long:
                self.data.append(value)
            return
        if self.too_long:
            yield Frame("", None)
        yield Frame(self.name, value)
        self._clear()

    def _clear(self) -> None:
        self.data, self.name, self.size, self.too_long = [], "", 0, False
