"""One producer and its transactions: what a partition's owner publishes and commits, all of it or nothing.

Rules; the client enforces none of them:

1. Opening it fences every earlier producer of the same id (InitProducerId). Only then may offsets be read.
2. A record that could not be sent does not fail the client's transaction: the others would be committed without it. So
   every acknowledgement is awaited before the offset is added and the transaction ended.
3. Any error is the end of this producer. Its transaction is not aborted here: the next one to open it does that. After
   an error that may pass that may be this process again; after being fenced it never is.
4. The client retries many errors for ever. So everything has a deadline, and none is longer than the broker's own.
5. The next transaction begins as soon as one is over. The broker hears of it with the first record, so an idle
   partition has none that could time out.
6. Kafka forgets an id that is idle for `transactional.id.expiration.ms`, and the producer that has it fails at its next
   transaction. A new one is sound. An owner that sends only inside `commit` gets a new one first, if the last
   transaction is old.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import InvalidProducerIdMapping, KafkaError, ProducerFenced
from aiokafka.structs import OffsetAndMetadata

from tokenmill.config import Kafka
from tokenmill.errors import FatalError, Unavailable
from tokenmill.kafka.aiokafka_inside import producer_id, sending_task, try_again_after
from tokenmill.kafka.boot_clock import boot_clock
from tokenmill.kafka.calls import deadline, started, stopped, stopped_on_failure

MARKERS_S = 0.004
"""Seconds until a transaction that could not begin is tried again: the broker still writes the last one's end to the
outputs, which takes some milliseconds. The client would wait for 20."""

try_again_after(MARKERS_S)

PASSES = (TimeoutError, OSError, AssertionError)
"""Errors that a new producer cures, with those that the client itself would retry. The client raises an assertion when
a connection is lost between two steps of its own."""

RENEW_S = 86_400.0
"""Seconds without a transaction after which a producer is replaced before the next one: by default, Kafka forgets its
id after seven days."""

EPOCH_BITS = 16
"""Width of a producer's epoch; the bits above are the producer's id."""


def transactional_id(kafka: Kafka, topic: str, number: int) -> str:
    """Return the id that is the same for every owner of the partition: that is what fences (design 4.7)."""
    return f"{kafka.transactional_id_prefix}-{kafka.group_id}-{topic}-{number}"


class Transaction:
    """The transactional producer of one input partition. It is a `Publisher` for the outboxes of that partition."""

    def __init__(
        self,
        make: Callable[[], AIOKafkaProducer],
        name: str,
        group_id: str,
        seconds: float,
        failed: Callable[[Exception], None],
        owned: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """`make` gives a new client for each attempt to open it, `seconds` is the transaction's timeout.

        `owned` is for an owner that sends only inside of `commit`. It is awaited before a producer that was idle for
        long is replaced, and raises unless the partition is still this process's; else that would fence its owner.
        """
        self.name = name
        """The transactional id."""
        self.producer: AIOKafkaProducer | None = None
        self._make = make
        self._group_id = group_id
        self._seconds = seconds
        self._failed = failed
        self._owned = owned
        self._closed = False
        self.given_up = False
        """It failed in a way that passes: whoever has the partition opens another one."""
        self._used_at = 0.0
        """The time of the last transaction, or of the opening, by the boot clock."""
        self._awaited = ""
        """What the end of the transaction waits for."""

    async def open(self) -> int:
        """Fence earlier producers of the id; return an epoch that grows with each opening.

        Raises `Unavailable` when the broker does not answer; then it may be tried again.
        """
        if self.producer is None:
            producer = await started(self._make, f"InitProducerId of {self.name}", self._seconds)
            async with stopped_on_failure(producer):
                await deadline(producer.begin_transaction(), f"begin a transaction of {self.name}")
            self.producer, self._used_at = producer, boot_clock()
        number, epoch = producer_id(self.producer)
        return number << EPOCH_BITS | epoch

    async def close(self, seconds: float) -> None:
        """Close the client. What is not committed is aborted by the next one to open it, or by its timeout."""
        self._closed = True
        if self.producer is not None:
            await stopped(self.producer, seconds)
            self.producer = None

    # For outboxes

    def create_batch(self) -> Any:
        """Return an empty batch of the client's."""
        return self.client.create_batch()

    async def send_batch(self, batch: Any, topic: str, *, partition: int) -> "asyncio.Future[Any]":
        """Send a batch as part of the open transaction."""
        future: asyncio.Future[Any] = await self.client.send_batch(batch, topic, partition=partition)
        return future

    def failed(self, problem: Exception) -> None:
        """Report a problem, as continuing would lose records; not any longer once the partition is given up."""
        if not self._closed:
            self._failed(self._told(problem))

    # The end of a transaction

    async def commit(
        self, place: TopicPartition, offset: OffsetAndMetadata, acknowledged: Callable[[], Awaitable[None]]
    ) -> None:
        """Commit what was sent, with this offset, once all of it is `acknowledged`; begin the next transaction.

        Raises `Unavailable`, after which it may be opened again, and `FatalError`. It may or may not be committed then,
        which the next one to open it will see.
        """
        self._awaited = "its records"
        await self._renew()
        try:
            async with asyncio.timeout(self._seconds):
                await acknowledged()
                producer = self.client
                self._awaited = "its offset"
                await producer.send_offsets_to_transaction({place: offset}, self._group_id)
                self._awaited = "its end"
                await producer.commit_transaction()
                await producer.begin_transaction()
                self._used_at = boot_clock()
        except Exception as problem:  # also assertions, which the client raises when it is in another state
            raise self._told(problem) from problem

    async def _renew(self) -> None:
        """Replace a producer that has been idle for long. Raises what `owned` does, and `Unavailable`."""
        if self._owned is None or self.producer is None or boot_clock() - self._used_at < RENEW_S:
            return
        await self._owned()
        idle, self.producer = self.producer, None
        await stopped(idle)
        await self.open()

    @property
    def client(self) -> AIOKafkaProducer:
        """Return the open producer. Raises `Unavailable` if there is none."""
        if self.producer is None or self._closed:
            raise Unavailable(f"the producer {self.name} is closed")
        return self.producer

    def _told(self, problem: Exception) -> FatalError | Unavailable:
        """Return what is raised for a problem: whether another producer may succeed where this one did not."""
        if isinstance(problem, FatalError | Unavailable):
            return problem
        if isinstance(problem, ProducerFenced):
            return FatalError(f"{self.name} is fenced: another worker has the partition, or the transaction timed out")
        late = f"not over within {self._seconds:g} s: the broker did not acknowledge {self._awaited}"
        why = late if isinstance(problem, TimeoutError) else repr(problem)
        passes = isinstance(problem, PASSES) or (isinstance(problem, KafkaError) and problem.retriable)
        self.given_up = passes or self._forgotten
        return (Unavailable if self.given_up else FatalError)(f"a transaction of {self.name} failed: {why}")

    @property
    def _forgotten(self) -> bool:
        """Whether Kafka has forgotten the id. The client passes on copies of the error, which lack its cause."""
        task = sending_task(self.producer) if self.producer is not None else None
        problem = task.exception() if task is not None and task.done() and not task.cancelled() else None
        return problem is not None and isinstance(problem.__cause__, InvalidProducerIdMapping)
