"""What of a partition is kept outside, as bytes."""

from typing import NamedTuple


class SnapshotWrite(NamedTuple):
    """What a store has to hold so that the partition can be restored as it was at `offset`."""

    offset: int
    """All records below it are in."""
    meta: bytes
    """Always whole."""
    changed: dict[bytes, bytes]
    removed: list[bytes]
    """Empty in a full write."""
