"""Finds the tags of nested elements as they arrive.

Which tags a chunk begins and ends depends only on the chunk and on what is open in front of it. Chunks are tokens,
which repeat: so `tags_in` remembers what it found.
"""

import re
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from tokenmill.parser.markers import OVER, Hit, Marker, Scanner, before, following
from tokenmill.parser.members import at_hand

TOKEN_CHARS = 32
"""A chunk that may come again; longer ones do not."""

REMEMBERED = 4096
"""Chunks whose tags are remembered, about a megabyte in all."""

SCANS = 64
"""Kinds of tags in use at a time: one for each format, and for each suffix that its markers have."""


@at_hand
class Edge(IntEnum):
    """What a marker inside the body means."""

    NAMED = 0
    """A tag ends."""
    OPEN = 1
    """An element's opening tag begins; its name follows."""
    CLOSE = 2
    """An element's closing tag begins."""
    END = 3
    """The call ends with this marker, unless it closes an element."""
    STOP = 4
    """The call ends in front of this marker, which belongs to what surrounds it."""
    LOOSE_END = 5
    """The end of a call in an open element, and not what must stand behind it."""


class Tags(NamedTuple):
    """The markers in a chunk, each with its begin and end, and how much of the chunk is read: the rest must wait."""

    edges: tuple[tuple[Edge, int, int], ...]
    read: int


class TreeScan:
    """The markers of one kind of tags, and of what surrounds the call."""

    def __init__(self, inside: Sequence[tuple[Marker, Edge]], tag_end: Marker, stops: Sequence[Marker]) -> None:
        behind = [*(sequence for stop in stops for sequence in following(stop)), OVER]
        loose = [(mark, Edge.LOOSE_END) for mark, edge in inside if edge is Edge.END]
        self._inside = Scanner(
            [(before(mark, behind) if edge is Edge.END else mark, edge) for mark, edge in inside] + loose
        )
        self._between = Scanner([*inside, *((stop, Edge.STOP) for stop in stops)])
        self._tag = Scanner([(tag_end, Edge.NAMED)])
        self.firsts = re.compile(f"[{re.escape(self._inside.firsts)}]")
        """Where a tag may begin inside of an element."""

    def live(self, in_tag: int, depth: int) -> Scanner[Edge]:
        """What is live in a tag, or inside of so many elements."""
        if in_tag:
            return self._tag
        return self._inside if depth else self._between


tree_scan = lru_cache(SCANS)(TreeScan)
"""The scan for these markers: one for all messages, so that they share what is remembered."""


def tags_in(scan: TreeScan, text: str, in_tag: int, depth: int) -> Tags | None:
    """The tags in a chunk that begins in such a tag, inside of so many elements; None if it may end the call."""
    return _remembered(scan, text, in_tag, depth) if len(text) <= TOKEN_CHARS else None


@lru_cache(REMEMBERED)
def _remembered(scan: TreeScan, text: str, in_tag: int, depth: int) -> Tags | None:
    at = 0
    edges: list[tuple[Edge, int, int]] = []
    while True:
        hit: Hit[Edge] | None = scan.live(in_tag, depth).find(text, at, final=False)
        if hit is None or hit.value is None:
            return Tags(tuple(edges), len(text) if hit is None else hit.start)
        if hit.value in (Edge.END, Edge.STOP, Edge.LOOSE_END):
            return None
        if hit.value is Edge.NAMED:
            depth += 1 if in_tag == Edge.OPEN else -1
        in_tag = hit.value
        edges.append((hit.value, hit.start, hit.end))
        at = hit.end
