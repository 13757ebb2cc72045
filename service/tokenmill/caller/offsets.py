"""The progress in a partition of `requests`: every answer below the committed offset has its end."""


class Offsets:
    """The offsets of one partition: those read, and those whose answers are not over."""

    def __init__(self, begin: int, end: int) -> None:
        """`begin` is the first offset that is read, `end` that of the partition's end at that time."""
        self.read = begin
        """Offset after the last record that was read."""
        self.committed = begin
        """The offset that was last committed; at first, the one at which reading begins."""
        self.inherited_until = end
        """Requests below this offset are inherited: another caller may have begun them."""
        self._unfinished = dict[int, None]()

    def take(self, offset: int, *, finished: bool) -> None:
        """Record that the record at this offset was read, and whether it needs no further work."""
        self.read = max(self.read, offset + 1)
        if not finished:
            self._unfinished[offset] = None

    def done(self, offset: int) -> None:
        """Record that the answer to the request at this offset is over."""
        self._unfinished.pop(offset, None)

    @property
    def due(self) -> int:
        """The offset to commit: of the first unfinished request. They are taken in order, so that is the least."""
        return next(iter(self._unfinished), self.read)
