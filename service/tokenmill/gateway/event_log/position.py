"""The id of a frame: its place in the log. Any gateway understands it, and none has to remember it.

`<partition>.<offset>.<part>~<back>~<mark>` names the record that the frame is made of; which of its frames it is, from
1; how many offsets before it the oldest message begins that a reader has to know to continue after it; and which event
the record is, as a topic that was deleted and made again may have another one there. Offset and part are padded with
zeros, so ids of a partition sort as text in the order of their frames. No character of it has a meaning in a URL,
in a header, in JSON or in a line of server-sent events.

Part 0 is the place before a record of any conversation. There `~1` means that the client has the end of an answer, and
was led on from it: what lies between is not read again.
"""

import re
from typing import NamedTuple

LONGEST = 256
"""Characters of the longest text that is read as an id. Ours have 60 at most."""

_ID = re.compile(r"(\d{1,9})\.(\d{1,20})\.(\d{1,9})~(\d{1,20})(?:~(\d{1,10}))?", flags=re.ASCII)


class BadPosition(ValueError):
    """The text is not the id of a frame."""


class Position(NamedTuple):
    """A place between two frames: right after the one that it names."""

    partition: int
    offset: int
    part: int
    """Number of the frame among those of the record, from 1; 0: the place before them."""
    back: int
    """Number of offsets before `offset` at which reading has to begin. With part 0: 1 after the end of an answer, else
    0."""
    mark: int = 0
    """`Entry.mark` of the record; 0: not known."""

    def __str__(self) -> str:
        text = f"{self.partition}.{self.offset:020d}.{self.part:05d}~{self.back}"
        return f"{text}~{self.mark}" if self.mark else text

    @property
    def place(self) -> tuple[int, int]:
        """The sort key of frames of a partition."""
        return self.offset, self.part


def read_position(text: str) -> Position:
    """Return the position that an id names. Raises `BadPosition`."""
    match = _ID.fullmatch(text) if len(text) <= LONGEST else None
    if match is None:
        raise BadPosition("an id of a frame looks like 0.00000000000000000042.00001~7; send it as you got it")
    position = Position(*map(int, match.groups("0")))
    if position.part and position.back > position.offset:
        raise BadPosition("the id points before the log's beginning; send it as you got it")
    return position
