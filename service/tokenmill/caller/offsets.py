"""How far a partition of `requests` is done: below the offset that is committed, every answer has its end."""


class Offsets:
    """The requests of one partition that were read and are not over."""

    def __init__(self, begin: int, end: int) -> None:
        """`begin`: the first one that is read. `end`: of the log at the take-over."""
        self.begin = begin
        self.inherited_until = end
        """Of a request below it nobody here knows whether it was begun before."""
        self._next = begin
        self._unfinished = dict[int, None]()

    @property
    def read(self) -> int:
        """The offset behind the last record that was read."""
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
        """What may be committed: offsets are read in order, so the first is the least."""
        return next(iter(self._unfinished), self._next)
