"""Keeps partitions that do not answer from taking all readers: a question holds a reader until its deadline.

A partition that has not answered is refused immediately for a while. Then one question at a time finds out whether it
answers again, and other clients wait for that without a reader: after an outage no client is refused only because
others come at the same time.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from time import monotonic

from tokenmill.errors import Unavailable
from tokenmill.kafka.calls import deadline

AGAIN_S = 2.0
"""Seconds after which a partition that did not answer is asked again: leaders are elected within seconds."""


class UnresponsivePartitions:
    """The partitions that do not answer. At most `trials` questions at a time find out whether they do again."""

    def __init__(self, trials: int) -> None:
        self._until: dict[int, float] = {}
        self._trials = asyncio.Semaphore(trials)
        self._tried: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    def check(self, partition: int) -> None:
        """Raise `Unavailable` for a partition that did not answer a moment ago."""
        if monotonic() < self._until.get(partition, 0):
            raise Unavailable(f"Kafka: partition {partition} does not answer")

    @asynccontextmanager
    async def asked(self, partition: int) -> AsyncIterator[AbstractContextManager[None]]:
        """Yield the context to ask a question in: `Unavailable` there means that the partition does not answer."""
        self.check(partition)
        while partition in self._until:
            async with self._trial(partition):
                self.check(partition)
                if partition in self._until:  # no other question has been answered meanwhile
                    yield self._watched(partition)
                    return
        yield self._watched(partition)

    @asynccontextmanager
    async def _trial(self, partition: int) -> AsyncIterator[None]:
        what = f"ask partition {partition} again"
        await deadline(self._tried[partition].acquire(), what)
        try:
            await deadline(self._trials.acquire(), what)
            try:
                yield
            finally:
                self._trials.release()
        finally:
            self._tried[partition].release()

    @contextmanager
    def _watched(self, partition: int) -> Iterator[None]:
        try:
            yield
        except Unavailable:
            if monotonic() >= self._until.get(partition, 0):
                self._until[partition] = monotonic() + AGAIN_S
            raise
        self._until.pop(partition, None)
