"""Server-sent events out of bytes that are cut anywhere, even inside a character or a line end.

Rules of this file, those of the standard where it has any (https://html.spec.whatwg.org/multipage/server-sent-events.html):

1. Lines end with LF, CRLF or CR. A blank line ends an event, whose `data` lines are joined with LF; one space behind
   the colon is not part of a value, and there need not be one. Comments and fields other than `data` and `event` have
   no effect. Bytes that are not UTF-8 become U+FFFD.
2. Many servers end an event with its line and send no blank one. So a reader may say of a data line whether it is an
   event as it stands; then it comes out at once. Other lines wait for the blank line, with which they come out
   together for the reader to judge, or are junk and give way to the next line that is an event.
3. A line that begins with a bracket is no SSE: it is what a server answers instead, and comes out as it stands. One
   that is no JSON may be the first of several, which come out together: when they are JSON, or when other lines come.
4. At the end of the stream an unfinished line counts as a line, and an event needs no blank line.
5. What waits is capped; an event that is longer comes out without its data, so that it is known of.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from tokenmill.limits import KIB

EVENT_BYTES = 256 * KIB
"""One event: what it brings of a call may be as long as a call. All of it that has arrived is read again with each
record, so more would make a stream slow that is cut small."""

BARE_CHARS = 16 * KIB
"""What a server answers in place of SSE, over several lines: it is read again at each line that may be the last."""

_NAMES = frozenset({"", "data", "event"})
"""Of lines that are SSE: blank ones and comments have none."""

_REST = b":"
"""Stands for a line of which nothing is kept: the rest of it is a comment."""


class Frame(NamedTuple):
    """One event."""

    name: str
    """Of the last `event` line; empty if there was none."""
    data: str | None
    """None: it was longer than `EVENT_BYTES`."""
    bare: bool = False
    """It is no SSE, but JSON, or was to be."""


def whole_events(value: bytes | None) -> list[bytes] | None:
    """The data of the events, if bytes at the beginning of one are events of one line each, as servers send them."""
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
    """Whether it is an object or an array, all of it."""
    if not (data.startswith(("{", "[")) and data.rstrip().endswith(("}", "]"))):
        return False
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


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
    """Bytes of `data`, with the names of the fields."""
    too_long: bool = False
    """The event is over the cap: its data is not kept."""
    returned: bool = False
    """The last line ended with CR, whose LF may follow."""
    bare: str = ""
    """Lines that are not SSE, and no JSON yet."""

    def feed(self, more: bytes, *, whole: Callable[[str], bool] = _never, last: bool = False) -> Iterator[Frame]:
        """The events that more bytes complete; `last` says that nothing follows."""
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
        """Whether the event with this line, or its beginning, is below the cap; else it is given up."""
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
        """Add one more line that is no SSE."""
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
