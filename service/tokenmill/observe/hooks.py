"""Hooks: an empty class. Subclass it, override what you need, and give it to the worker.

Hooks are called once for a batch, a commit or a restore, never for a token, and must return immediately.
"""


class Hooks:
    """Calls that a worker makes to an observer: for tracing, tests, or your own audit."""

    def assigned(self, partitions: int) -> None:
        """The group gave this worker this many partitions; their state is not restored yet."""

    def replayed(self, topic: str, partition: int, records: int) -> None:
        """A batch of records below the commit was read again, silently, to rebuild the state."""

    def restored(self, topic: str, partition: int, source: str, offset: int) -> None:
        """A partition is live from this offset on; `source` is one of `RESTORE_SOURCES`."""

    def committing(self, offsets: dict[tuple[str, int], int]) -> None:
        """Everything below these offsets is acknowledged and about to be committed."""

    def committed(self, offsets: dict[tuple[str, int], int]) -> None:
        """The commit succeeded."""

    def snapshot_written(self, topic: str, partition: int, offset: int) -> None:
        """The store has this partition's state as of a committed offset."""

    def revoked(self, partitions: int) -> None:
        """The group takes this many partitions back, 0 at first; work in flight is about to be finished."""
