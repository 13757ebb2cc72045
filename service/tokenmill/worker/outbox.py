"""Output records of one partition of one topic: collected into batches, sent in order, several on their way.

While earlier batches are on their way, records join the batch that is still open; so batches grow with the load by
themselves, and nothing waits for a timer. Every record has the input record's own timestamp.

Where outputs are published in transactions, nothing is flushed: records collect until a `cut` releases what belongs
to one.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from aiokafka.errors import InvalidTimestampError, MessageSizeTooLargeError
from aiokafka.structs import RecordMetadata

from tokenmill.errors import FatalError
from tokenmill.kafka.batches import Batch
from tokenmill.records import Headers
from tokenmill.worker.topic_checks import taking_all

ALL = float("inf")
"""Batches that may be sent, where no transaction limits them."""


class Publisher(Protocol):
    """What an outbox needs of a producer."""

    def create_batch(self) -> Any:
        """An empty record batch."""

    async def send_batch(self, batch: Any, topic: str, *, partition: int) -> "asyncio.Future[Any]":
        """Send it; return the future of its acknowledgement."""


class Outbox:
    """The way to one output partition. `begun` and `acked` count batches; they are acknowledged in order."""

    __slots__ = (
        "_acknowledged",
        "_broken",
        "_closed",
        "_failed",
        "_last",
        "_open",
        "_partition",
        "_producer",
        "_pump",
        "_sent_bytes",
        "_topic",
        "_until",
        "_waiting",
        "acked",
        "begun",
        "end",
    )

    WHAT = "outputs"
    """The records, in a sentence."""

    def __init__(
        self,
        producer: Publisher,
        topic: str,
        partition: int,
        *,
        acknowledged: Callable[[int], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """`acknowledged` is called with the number of records of each batch, `failed` if one can't be published."""
        self._producer = producer
        self._topic = topic
        self._partition = partition
        self._acknowledged = acknowledged
        self._failed = failed
        self._open: Batch | None = None
        self._last: asyncio.Future[Any] | None = None
        """The acknowledgement of the batch that was sent last."""
        self._waiting: deque[Batch] = deque()
        self._pump: asyncio.Task[None] | None = None
        self._sent_bytes = 0
        self._until: float = ALL
        self._closed = False
        self._broken = False
        """A batch did not arrive: a later one must not count in its place, so none is sent or counted."""
        self.begun = 0
        """Batches that have at least one record."""
        self.acked = 0
        """Batches that the broker has acknowledged, all replicas included."""
        self.end = 0
        """The topic's offset after them, as far as the broker reported it; 0 before the first one."""

    @property
    def unacked_bytes(self) -> int:
        """Bytes in batches that are not acknowledged."""
        return self._sent_bytes + sum(batch.size for batch in self._waiting)

    def append(self, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers) -> None:
        """Add one record. Call `flush` after the last one of a batch of input."""
        batch = self._open
        if batch is None or batch.append(batch.records, timestamp, key, value, headers) is None:
            batch = self._begin()
            batch.append(0, timestamp, key, value, headers)  # an empty batch takes a record of any size
        batch.records += 1

    def flush(self) -> None:
        """Send what was appended as soon as the producer can take it."""
        if self._waiting and self._pump is None and not self._closed and not self._broken:
            self._pump = asyncio.create_task(self._send())

    def cut(self) -> None:
        """Release what was appended so far; what comes later begins a batch that waits for the next cut."""
        self._open = None
        self._until = self.begun
        self.flush()

    def close(self) -> None:
        """Send nothing more. What the producer already has may still be published; that does no harm."""
        self._closed = True
        if self._pump is not None:
            self._pump.cancel()

    def _begin(self) -> Batch:
        self._open = batch = Batch(self._producer.create_batch())
        self._waiting.append(batch)
        self.begun += 1
        return batch

    async def _send(self) -> None:
        try:
            while self._waiting and self.begun - len(self._waiting) < self._until:
                if self._waiting[0] is self._open and self._last is not None and not self._last.done():
                    await asyncio.wait([self._last])
                    continue
                batch = self._waiting.popleft()
                if batch is self._open:
                    self._open = None
                batch.close()
                size = batch.size
                self._sent_bytes += size
                # Waits while the producer has a batch for this partition that is not on the wire yet.
                self._last = await self._producer.send_batch(batch.client, self._topic, partition=self._partition)
                self._last.add_done_callback(partial(self._done, size=size, records=batch.records))
        except Exception as problem:  # noqa: BLE001 -- whatever it is, continuing would break the order
            self._break(problem)
        finally:
            self._pump = None

    def _why(self, problem: BaseException, size: int) -> Exception:
        """Return the error to report for a refused batch of that size."""
        if isinstance(problem, MessageSizeTooLargeError):
            return FatalError(
                f"topic {self._topic} no longer accepts {size} bytes: its max.message.bytes was lowered; "
                f"restart the worker to fit {self.WHAT} to it"
            )
        if isinstance(problem, InvalidTimestampError):
            return FatalError(
                f"topic {self._topic} rejects the timestamp of a record, which is that of its input: "
                f"{taking_all(self._topic)}"
            )
        return problem if isinstance(problem, Exception) else RuntimeError(repr(problem))

    def _done(self, future: "asyncio.Future[Any]", *, size: int, records: int) -> None:
        self._sent_bytes -= size
        if future.cancelled():
            return
        if problem := future.exception():
            self._not_taken(problem, size, records)
        elif not self._broken:
            self.acked += 1
            self.end = _end(future.result(), records)
            self._acknowledged(records)

    def _not_taken(self, problem: BaseException, size: int, records: int) -> None:  # noqa: ARG002 -- an inbox needs them
        """A batch of that size and number of records was refused, or did not arrive."""
        self._break(self._why(problem, size))

    def _break(self, problem: Exception) -> None:
        self._broken = True
        self._failed(problem)


def _end(sent: RecordMetadata | None, records: int) -> int:
    """Return the offset after a batch; 0 where the broker has it twice and does not report where the first one is."""
    return sent.offset + records if sent is not None and sent.offset >= 0 else 0
