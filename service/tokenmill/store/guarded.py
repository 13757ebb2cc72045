"""A circuit breaker around a store: while the store does not answer, calls fail at once instead of waiting."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TypeVar

from tokenmill.errors import Unavailable
from tokenmill.store.base import Head, HeadChanged, Place, Snapshot, SnapshotStore

T = TypeVar("T")

LOAD_PATIENCE = 6
"""Deadline of a load, as a multiple of that of other operations: it reads a page for every few hundred messages, each
with its own time-out, and shares the processor with the restores of other partitions. Giving up costs a replay."""

FIRST_PAUSE_S = 1.0
"""Seconds of the first pause."""
LONGEST_PAUSE_S = 30.0
"""Seconds of the longest pause."""


class Breaker:
    """A circuit breaker: open after a failure, for a pause that doubles with each further one; then calls may try
    again.

    `clock` returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._pause = FIRST_PAUSE_S
        self._opened_at = -math.inf
        self._closed_at = 0.0

    @property
    def open(self) -> bool:
        """Whether calls should be refused now."""
        return self.clock() < self._closed_at

    def succeeded(self) -> None:
        """Record that a call succeeded."""
        self._pause = FIRST_PAUSE_S
        self._closed_at = 0.0

    def failed(self, began: float) -> None:
        """Record that a call failed which began at this time. Of concurrent failures only one counts."""
        if began < self._opened_at:
            return
        self._opened_at = self.clock()
        self._closed_at = self._opened_at + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE_S)


class GuardedStore:
    """A `SnapshotStore` over another one: fails immediately while the breaker is open, and bounds every operation."""

    def __init__(
        self,
        store: SnapshotStore,
        *,
        deadline: float,
        failed: Callable[[str, Exception], None],
        breaker: Breaker | None = None,
    ) -> None:
        """`deadline` is in seconds, for each operation but a load. `failed` is called with the name and the error of
        each operation that fails.
        """
        self._store = store
        self._deadline = deadline
        self._failed = failed
        self._breaker = breaker or Breaker()

    @property
    def refusing(self) -> bool:
        """Whether an operation would be refused now, so there is no need to prepare one."""
        return self._breaker.open

    @property
    def load_s(self) -> float:
        """Seconds that a load may take."""
        return self._deadline * LOAD_PATIENCE

    async def load(self, topic: str, partition: int) -> Snapshot | None:
        """As `SnapshotStore.load`."""
        return await self._guard("load", self._store.load, topic, partition, patience=LOAD_PATIENCE)

    async def head(self, topic: str, partition: int) -> Head | None:
        """As `SnapshotStore.head`."""
        return await self._guard("head", self._store.head, topic, partition)

    async def write_full(
        self, topic: str, partition: int, base: Head | None, place: Place, meta: bytes, fields: Mapping[bytes, bytes]
    ) -> Head:
        """As `SnapshotStore.write_full`."""
        return await self._guard("write", self._store.write_full, topic, partition, base, place, meta, fields)

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
        """As `SnapshotStore.write_delta`."""
        return await self._guard(
            "write", self._store.write_delta, topic, partition, base, place, meta, changed, removed
        )

    def keep(self, places: Collection[tuple[str, int]]) -> None:
        """As `SnapshotStore.keep`."""
        self._store.keep(places)

    async def close(self) -> None:
        """As `SnapshotStore.close`."""
        await self._store.close()

    async def _guard(self, op: str, call: Callable[..., Awaitable[T]], *args: object, patience: float = 1) -> T:
        if self._breaker.open:
            raise Unavailable(f"snapshot store: {op} was not tried, as the store failed a moment ago")
        seconds = self._deadline * patience
        began = self._breaker.clock()
        try:
            async with asyncio.timeout(seconds):
                result = await call(*args)
        except HeadChanged:
            # The store did answer: another writer was first, or the answer to an earlier write was lost.
            self._breaker.succeeded()
            raise
        except (Unavailable, TimeoutError) as problem:
            self._breaker.failed(began)
            self._failed(op, problem)
            why = str(problem) or f"no answer within {seconds:g} s"
            raise Unavailable(f"snapshot store: {op}: {why}") from problem
        self._breaker.succeeded()
        return result
