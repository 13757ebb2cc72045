"""How far a partition of `requests` is done: below the offset that is committed, every answer has its end."""


class Offsets:
    """The requests of one partition that were read and are not over."""

    def __init__(self, begin: int, end: int) -> None:
        """`begin` is the first offset that is read, `end` that of the log's end at the take-over."""
        self.begin = begin
        self.inherited_until = end
        """Requests below this offset may have been begun by another caller."""
        self._next = begin
        self._unfinished = dict[int, None]()

    @property
    def read(self) -> int:
        """Offset after the last record that was read."""
        return self._next

    def take(self, offset: int, *, finished: bool) -> None:
        """Note a record that was read."""
        self._next = max(self._next, offset + 1)
        if not finished:
            self._unfinished[offset] = None

    def done(self, offset: int) -> None:
        """Note that a request's answer is over."""
        self._unfinished.pop(offset, None)

    @property
    def committed(self) -> int:
        """Offset that may be committed. Offsets are read in order, so the first is the least."""
        return next(iter(self._unfinished), self._next)
