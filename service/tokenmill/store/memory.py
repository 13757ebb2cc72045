"""A snapshot store in memory, for tests and for workers that need no fast recovery."""

from collections.abc import Collection, Mapping, Sequence
from itertools import count

from tokenmill.store.base import Head, HeadChanged, Place, Snapshot


class MemoryStore:
    """A `SnapshotStore` in this process's memory."""

    def __init__(self) -> None:
        self._snapshots: dict[tuple[str, int], Snapshot] = {}
        self._generations = count(1)

    async def load(self, topic: str, partition: int) -> Snapshot | None:
        """Return the whole snapshot, with a copy of its fields."""
        snapshot = self._snapshots.get((topic, partition))
        return Snapshot(snapshot.head, snapshot.meta, dict(snapshot.fields)) if snapshot else None

    async def head(self, topic: str, partition: int) -> Head | None:
        """As `SnapshotStore.head`."""
        snapshot = self._snapshots.get((topic, partition))
        return snapshot.head if snapshot else None

    async def write_full(
        self, topic: str, partition: int, base: Head | None, place: Place, meta: bytes, fields: Mapping[bytes, bytes]
    ) -> Head:
        """Replace the snapshot if its head is `base`."""
        if (current := await self.head(topic, partition)) != base:
            raise HeadChanged(current)
        head = Head(str(next(self._generations)), place.epoch, place.offset, len(fields))
        self._snapshots[topic, partition] = Snapshot(head, meta, dict(fields))
        return head

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
        """Apply changes if the head is `base`."""
        snapshot = self._snapshots.get((topic, partition))
        if snapshot is None or snapshot.head != base:
            raise HeadChanged(snapshot.head if snapshot else None)
        gone = set(removed)
        fields = {key: value for key, value in snapshot.fields.items() if key not in gone} | dict(changed)
        head = Head(base.generation, place.epoch, place.offset, len(fields))
        self._snapshots[topic, partition] = Snapshot(head, meta, fields)
        return head

    def keep(self, places: Collection[tuple[str, int]]) -> None:
        """As `SnapshotStore.keep`."""
        self._snapshots = {place: snapshot for place, snapshot in self._snapshots.items() if place in places}

    async def close(self) -> None:
        """Do nothing: there are no connections."""
