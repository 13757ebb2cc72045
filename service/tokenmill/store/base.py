"""What a snapshot store is. A store is a cache: every answer may be "nothing", and nothing breaks.

Rules that every store keeps (the contract tests run over all of them):

1. A partition has one *head*: which generation is current, who wrote it (epoch), at which offset, with how many fields.
2. A full write goes into a generation of its own; its last step makes it the head, only if the head still is the one
   the writer knows. So a reader never sees half of it, and a writer that was overtaken changes nothing.
3. A delta is applied only on top of exactly the head it was made for. Anything else, a time-out included, is answered
   by an exception, and the writer's next write is a full one.
4. A head that changes while a reader reads makes the reader start again.

A snapshot at offset O is right whoever wrote it, because state is a function of the log; what must never happen is that
two of them mix. The rules above are about that.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import msgspec

from tokenmill.errors import Unavailable


class Head(msgspec.Struct, frozen=True):
    """Which write of a partition's snapshot is the current one."""

    generation: str
    """Names the set of fields; every full write has a new one."""
    epoch: int
    """The writer's fencing number: the group's generation; with exactly-once the producer's id and epoch."""
    offset: int
    """The snapshot holds what all records below this offset did."""
    fields: int
    """How many fields there must be: a store may have lost some."""


class Snapshot(msgspec.Struct, frozen=True):
    """A partition's state as it was at `head.offset`."""

    head: Head
    meta: bytes
    fields: dict[bytes, bytes]


class Place(msgspec.Struct, frozen=True):
    """Where a write stands: the writer's epoch and the offset that it includes, exclusive."""

    epoch: int
    offset: int
    log: str = ""
    """Id of the topic: the fields of two logs never have one place."""


class HeadChanged(Unavailable):
    """The head is not the one that the write builds on; `head` is what the store has now."""

    def __init__(self, head: Head | None) -> None:
        super().__init__(f"the snapshot's head is {head}")
        self.head = head


class SnapshotStore(Protocol):
    """Snapshots by topic and partition. Every method raises `Unavailable` when the store does not answer in time."""

    async def load(self, topic: str, partition: int) -> Snapshot | None:
        """The whole snapshot, or None if there is none that is complete."""

    async def head(self, topic: str, partition: int) -> Head | None:
        """The head alone, complete or not: what a first write must name as its base."""

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
        """Apply changes on top of `base`. Raises `HeadChanged` if that is not what the store has, whole."""

    def keep(self, places: Collection[tuple[str, int]]) -> None:
        """These partitions are owned here, and no others: what only this process has of those may go."""

    async def close(self) -> None:
        """Let go of connections."""
