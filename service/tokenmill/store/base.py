"""The interface of snapshot stores. A store is a cache: it may have lost anything, and then the log is read again.

Rules that every store keeps (the contract tests check them for each):

1. A partition has one *head*: the current generation, its writer's epoch, its offset, and its number of fields.
2. A full write goes into a generation of its own. Its last step makes this the head, but only if the head is still the
   one that the writer knows. So a reader never sees a part of it, and a writer that was overtaken changes nothing.
3. A delta is applied only on top of exactly the head it was made for. Otherwise, also after a time-out, an exception is
   raised, and the writer's next write is a full one.
4. If the head changes while a reader reads, the reader starts again.

A snapshot at an offset is right no matter which worker wrote it, because state is a function of the log. But two
snapshots must never mix; these rules prevent that.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import msgspec

from tokenmill.errors import Unavailable


class Head(msgspec.Struct, frozen=True):
    """The current write of a partition's snapshot."""

    generation: str
    """Name of the set of fields; each full write has a new one."""
    epoch: int
    """Fencing number of the writer: the group's generation; with exactly-once the producer's id and epoch."""
    offset: int
    """Offset below which all records are included."""
    fields: int
    """Number of fields that a complete snapshot has: a store may have lost some."""


class Snapshot(msgspec.Struct, frozen=True):
    """A partition's state after all records below `head.offset`."""

    head: Head
    meta: bytes
    fields: dict[bytes, bytes]


class Place(msgspec.Struct, frozen=True):
    """Position of a write: the writer's epoch and the offset, exclusive, up to which records are included."""

    epoch: int
    offset: int
    log: str = ""
    """Id of the topic, so that the fields of two logs never share a place."""


class HeadChanged(Unavailable):
    """The head is not the one that the write builds on; `head` is the store's current one.

    The next write must be full.
    """

    def __init__(self, head: Head | None) -> None:
        super().__init__(f"the snapshot's head is {head}")
        self.head = head


class SnapshotStore(Protocol):
    """Snapshots by topic and partition. Every method raises `Unavailable` when the store does not answer in time."""

    async def load(self, topic: str, partition: int) -> Snapshot | None:
        """Return the whole snapshot; None if there is no complete one."""

    async def head(self, topic: str, partition: int) -> Head | None:
        """Return the head, even if its snapshot is not complete: a writer's first write has to name it as its base."""

    async def write_full(
        self, topic: str, partition: int, base: Head | None, place: Place, meta: bytes, fields: Mapping[bytes, bytes]
    ) -> Head:
        """Replace the snapshot, and return its head. Raises `HeadChanged` if the head is not `base`."""

    async def write_delta(
        self,
        topic: str,
        partition: int,
        base: Head,
        place: Place,
        meta: bytes,
        changed: Mapping[bytes, bytes],
        removed: Sequence[bytes],
    ) -> Head:
        """Apply changes on top of `base`, and return the new head.

        Raises `HeadChanged` if `base` is not the store's head, or its snapshot is not complete.
        """

    def keep(self, places: Collection[tuple[str, int]]) -> None:
        """Drop data of all other partitions that is in this process only: these are the ones that it owns now."""

    async def close(self) -> None:
        """Close all connections."""
