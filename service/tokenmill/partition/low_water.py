"""How far back a replay has to start.

1. Everything alive (a message, the memory of an ended one, a codec's state) depends on the log from one offset on: its
   *root*. A replay that starts at or before the oldest root rebuilds all of it.
2. It must not rebuild more than that. If only the tail of an ended and forgotten message is replayed, the message can
   open again and stay open: late chunks without `seq` would open it if the end that made them late is not in the
   replay. So each late chunk forbids a *span* of starts, those from which its message would be misread. Spans are few
   (the tail of a producer that did not notice a cancel) and are dropped once the oldest root has passed them.
3. While one message stays open, there may be many. Then those that begin near each other become one, which forbids what
   lies between them, too: a start may be too low, and never too high.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from operator import attrgetter

SPANS = 64
"""Spans that remain, but for one or two, when more than twice as many are joined. That makes starts lower by at most a
32nd of the log since the oldest root."""


class Root:
    """An offset that a replay must not start after, shared by all that depends on it."""

    __slots__ = ("offset", "users")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.users = 0


class LowWater:
    """The roots of a partition, oldest first, and the spans in which no replay may start."""

    def __init__(self, spans: Mapping[int, int] | None = None) -> None:
        self._roots: deque[Root] = deque()
        self._live = 0
        self._spans = dict(spans or {})

    def root(self, offset: int) -> Root:
        """The root at `offset`, the current record's: roots are made in the order of the log."""
        if not self._roots or self._roots[-1].offset != offset:
            self._roots.append(Root(offset))
        return self._roots[-1]

    def restore(self, roots: Iterable[Root]) -> None:
        """Take over the roots of a snapshot, in any order. To be called before any other is made."""
        self._roots.extend(sorted(roots, key=attrgetter("offset")))

    def hold(self, root: Root) -> Root:
        """Count one more user of `root`."""
        self._live += not root.users
        root.users += 1
        return root

    def release(self, root: Root) -> None:
        """Count one user less of `root`."""
        root.users -= 1
        self._live -= not root.users

    def forbid(self, after: int, until: int) -> None:
        """Forbid replays that start after the offset `after` and at or before `until`."""
        self._spans[after] = max(until, self._spans.get(after, until))

    @property
    def spans(self) -> dict[int, int]:
        """The forbidden spans: start, exclusive, to end, inclusive."""
        return self._spans

    def at(self, offset: int) -> int:
        """Where a replay up to `offset` has to start."""
        roots = self._roots
        while roots and not roots[0].users:
            roots.popleft()
        if len(roots) > 2 * self._live + 1000:  # dead roots pile up after one that lives long
            self._roots = roots = deque(root for root in roots if root.users)
        start = oldest = roots[0].offset if roots else offset
        if self._spans:
            start = self._outside_spans(start)
            self._spans = {after: until for after, until in self._spans.items() if until >= start}
            if len(self._spans) > 2 * SPANS:
                self._spans = _joined(self._spans, oldest)
        return start

    def _outside_spans(self, start: int) -> int:
        for after, until in sorted(self._spans.items(), reverse=True):
            if after < start <= until:
                start = after
        return start


def _joined(spans: Mapping[int, int], root: int) -> dict[int, int]:
    """Return fewer spans that cover these: of those from `root` on, at most one more than `SPANS`.

    Spans that overlap become one, and so do those that begin in the same cell. Cells are of a power of two, so a span
    that was joined before stays within one: otherwise it could grow each time, and the root never leave it.
    """
    shift = ((max(spans) - root) // SPANS).bit_length()
    joined = dict[int, int]()
    last = -1
    for after, until in sorted(spans.items()):
        if last < 0 or (after > joined[last] and after >> shift != last >> shift):
            last = after
        joined[last] = max(until, joined.get(last, until))
    return joined
