"""The interface of snapshot stores. A store is a cache: every answer may be "nothing", and nothing breaks.

Rules that every store keeps (the contract tests run over all of them):

1. A partition has one *head*: the current generation, its writer's epoch, its offset, and its number of fields.
2. A full write goes into a generation of its own. Its last step makes it the head, but only if the head still is the
   one the writer knows. So a reader never sees half of it, and a writer that was overtaken changes nothing.
3. A delta is applied only on top of exactly the head it was made for. In any other case, including a time-out, an
   exception is raised, and the writer's next write is a full one.
4. If the head changes while a reader reads, the reader starts again.

A snapshot at an offset is right no matter which worker wrote it, because state is a function of the log. But two
snapshots must never mix; the rules above prevent that.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import msgspec

from tokenmill.errors import Unavailable


class Head(msgspec.Struct, frozen=True):
    """The current write of a partition's snapshot."""

    generation: str
    """Name of the set of fields; every full write has a new one."""
    epoch: int
    """Fencing number of the writer: the group's generation; with exactly-once the producer's id and epoch."""
    offset: int
    """Offset below which all records are included."""
    fields: int
    """Number of fields that there must be: a store may have lost some."""


class Snapshot(msgspec.Struct, frozen=True):
    """A partition's state as it was at `head.offset`."""

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
    """The head is not the one that the write builds on; `head` is what the store has now."""

    def __init__(self, head: Head | None) -> None:
        super().__init__(f"the snapshot's head is {head}")
        self.head = head


class SnapshotStore(Protocol):
    """Snapshots by topic and partition. Every method raises `Unavailable` when the store does not answer in time."""

    async def load(self, topic: str, partition: int) -> Snapshot | None:
        """The whole snapshot, or None if there is no complete one."""

    async def head(self, topic: str, partition: int) -> Head | None:
        """The head alone, whether its snapshot is complete or not: the base that a first write must name."""

    async def write_full(
        self, topic: str, partition: int, base: Head | None, place: Place, meta: bytes, fields: Mapping[bytes, bytes]
    ) -> Head:
        """Replace the snapshot. Raises `HeadChanged` if the head is not `base`."""

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
        """Apply changes on top of `base`. Raises `HeadChanged` if that is not the store's head, or not complete."""

    def keep(self, places: Collection[tuple[str, int]]) -> None:
        """Note that exactly these partitions are owned here: data of others that is only in this process may go."""

    async def close(self) -> None:
        """Close all connections."""
