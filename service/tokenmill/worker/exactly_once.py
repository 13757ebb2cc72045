"""Exactly-once delivery (design 4.7): publish and commit are one transaction, with one producer for each partition.

The cycle is that of `engine`, and the order of its steps the same. What differs is where a step waits:

    3 publish      records collect in the outboxes; step 5 releases those that belong to its mark
    4 acknowledge  awaited before the transaction ends, because the broker would commit without what is missing
    6 commit       outputs, offset and mark become visible together, to readers with `read_committed`

A transaction of a lane begins as soon as there is something to publish and the one before is over. What comes meanwhile
is in the next one, so they grow with the load by themselves; a lane that catches up makes one at each interval, as its
time is better spent on records. Transactions of different lanes are independent.

Parsing continues meanwhile; those records belong to the next transaction. When one fails, no reader has seen any of it,
and the next owner repeats it. That is this worker itself, for this lane alone, unless it is fenced: then another worker
has the partition, and the process ends.

Control records on the input topic go through the worker's other producer, outside of transactions. They are input: the
result is the same whether one is written once or twice, as the second finds its message ended. In a transaction they
would hold back the readers of the input, and vanish with one that is aborted.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from functools import partial
from typing import cast

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from tokenmill.errors import FatalError, Unavailable
from tokenmill.kafka.clients import find_partitions, make_producer
from tokenmill.kafka.transaction import Transaction, transactional_id
from tokenmill.partition import Mark, Partition
from tokenmill.tasks import Tasks
from tokenmill.worker.commit import Committer, offsets_of
from tokenmill.worker.delivery import Delivery
from tokenmill.worker.lane import Lane, Phase
from tokenmill.worker.outbox import Outbox
from tokenmill.worker.parts import Parts
from tokenmill.worker.sizes import batch_bytes
from tokenmill.worker.snapshots import SnapshotWriter

CATCHING_UP = 1_000
"""Records parsed during one transaction, of some milliseconds, that show that the lane is behind."""

OPENINGS = 8
"""Producers opened side by side: each makes connections of its own."""

CLOSE_S = 5.0
"""Seconds for closing a producer."""


class InTransactions:
    """Outputs wait for their lane's next transaction, and are done when it is committed."""

    def __init__(
        self, transaction: Transaction, wake: Callable[[Lane], None], retire: Callable[[Transaction], None]
    ) -> None:
        """`wake` is called when a lane has something to commit, `retire` when it is closed."""
        self._news = asyncio.Event()
        self.transaction = transaction
        self.one_at_a_time = asyncio.Lock()
        """Held while the lane is marked and committed."""
        self.due = 0.0
        """When its next transaction may begin, on the committer's clock."""
        self.soon: asyncio.Task[None] | None = None
        """Its next transaction, or the one under way."""
        self._wake = wake
        self._retire = retire

    def appended(self, lane: Lane) -> None:
        """Send nothing yet: which records belong to a transaction is known when its mark is taken."""
        self._wake(lane)

    def marked(self, lane: Lane) -> None:
        """Send what was published up to this mark, with which the next transaction ends."""
        for box in lane.outboxes.values():
            box.cut()

    def acknowledged(self, lane: Lane) -> None:  # noqa: ARG002 -- nothing is done before it is committed
        self._news.set()

    async def drained(self, lane: Lane) -> None:
        """Return: a commit covers everything at any time, as it waits for the acknowledgements itself."""

    def committable(self, lane: Lane) -> Mark | None:
        return next((each.mark for each in lane.slices if each.mark is not None), None)

    async def commit(self, lane: Lane, mark: Mark, committing: Callable[[], None] = lambda: None) -> None:
        """Steps 4 and 6: once all is acknowledged, call `committing`, and commit outputs and offset as one."""
        needs = next(each.needs for each in lane.slices if each.mark is mark)
        offset = OffsetAndMetadata(mark.offset, mark.encode())

        async def acknowledged() -> None:
            await self._acknowledged(needs)
            committing()

        await self.transaction.commit(lane.topic_partition, offset, acknowledged)
        lane.commit_done(mark)

    def committed(self, lane: Lane, mark: Mark) -> None:
        """Settle everything up to this mark: it can be read now."""
        now = lane.now_ms()
        while lane.done(now) is not mark:
            pass

    def close(self) -> None:
        """Close the producer; the next owner's aborts what is not committed."""
        self._retire(self.transaction)

    async def _acknowledged(self, needs: Iterable[tuple[Outbox, int]]) -> None:
        while any(box.acked < needed for box, needed in needs):
            self._news.clear()
            await self._news.wait()


def in_transactions(lane: Lane) -> InTransactions:
    """Return how a lane of this delivery publishes."""
    return cast(InTransactions, lane.publication)


class TransactionCommitter(Committer):
    """Ends transactions: each lane's at its own pace, side by side."""

    def __init__(self, parts: Parts, writer: SnapshotWriter, interval_ms: int) -> None:
        """As `Committer`; its patience counts for each partition by itself."""
        super().__init__(parts, writer, interval_ms)
        self._failing: dict[TopicPartition, tuple[float, float]] = {}
        """When the transactions of a partition began to fail, and when the last one did."""
        self._failed: asyncio.Future[None] | None = None
        """What ends it, while it runs."""

    async def run(self, lanes: Callable[[], Collection[Lane]]) -> None:
        """Let lanes commit when they `wake` it, and look at all of them at each interval: some have news unasked."""
        self._failed = asyncio.get_running_loop().create_future()
        try:
            while not self._failed.done():
                for lane in lanes():
                    self.wake(lane)
                await asyncio.wait([self._failed], timeout=self._interval_s)
            self._failed.result()
        finally:
            self._failed = None
            for lane in lanes():
                if soon := in_transactions(lane).soon:
                    soon.cancel()

    def wake(self, lane: Lane) -> None:
        """Commit what the lane has, as soon as it may. One that is being committed is looked at again afterwards."""
        own = in_transactions(lane)
        if self._failed is None or own.soon is not None or lane.phase is not Phase.LIVE:
            return
        if lane.unmarked:
            own.soon = asyncio.create_task(self._soon(lane))
            own.soon.add_done_callback(partial(self._over, lane))

    async def _soon(self, lane: Lane) -> None:
        own = in_transactions(lane)
        await asyncio.sleep(max(own.due - self._clock(), 0))
        begun = self._clock()
        at = lane.partition.offset
        await self.tick([lane])
        own.due = begun + self._interval_s if lane.partition.offset - at >= CATCHING_UP else begun

    def _over(self, lane: Lane, task: "asyncio.Task[None]") -> None:
        in_transactions(lane).soon = None
        if task.cancelled():
            return
        problem = task.exception()
        if problem is None:
            self.wake(lane)
        elif self._failed is not None and not self._failed.done():
            self._failed.set_exception(problem)

    async def _exclusively(self, work: Callable[[Iterable[Lane]], Awaitable[None]], lanes: Iterable[Lane]) -> None:
        async def alone(lane: Lane) -> None:
            async with in_transactions(lane).one_at_a_time:
                await work([lane])

        await asyncio.gather(*(alone(lane) for lane in lanes))

    async def commit(self, marks: dict[Lane, Mark]) -> None:
        """Commit these, each lane for itself. Raises what goes wrong with a lane that is still ours."""
        await asyncio.gather(*(self._commit(lane, mark) for lane, mark in marks.items()))

    async def _commit(self, lane: Lane, mark: Mark) -> None:
        offsets = offsets_of({lane: mark})
        try:
            await in_transactions(lane).commit(lane, mark, lambda: self._hooks.committing(offsets))
        except (FatalError, Unavailable) as problem:
            self._numbers.add("tokenmill_commits_total", "failed")
            if isinstance(problem, Unavailable):
                lane.fail(problem)
                self._bear(problem, self._failing_since(lane.topic_partition))
            elif lane.phase is not Phase.CLOSED:
                raise
        else:
            self._failing.pop(lane.topic_partition, None)
            self._numbers.add("tokenmill_commits_total", "done")
            self._hooks.committed(offsets)

    def _failing_since(self, place: TopicPartition) -> float:
        """Note a failure; return when they began. Old ones don't count: the partition may have been elsewhere since."""
        now = self._clock()
        since, last = self._failing.get(place, (now, now))
        since = now if now - last > self._patience else since
        self._failing[place] = since, now
        return since


class ExactlyOnce(Delivery):
    """One transactional producer for each owned partition; a new owner's fences the old owner's."""

    def __init__(self, parts: Parts, writer: SnapshotWriter) -> None:
        committer = TransactionCommitter(parts, writer, parts.config.worker.transaction_interval_ms)
        super().__init__(parts, writer, committer)
        self._wake = committer.wake
        self._open: set[Transaction] = set()
        self._closing = Tasks()

    def producers(self) -> list[AIOKafkaProducer]:
        """Return the one for control records, and those of partitions whose lanes are not about to get another."""
        own = (each.producer for each in self._open if not each.given_up)
        return [self.parts.producer, *(producer for producer in own if producer is not None)]

    def make_lane(self, partition: Partition) -> Lane:
        """Make a lane with a producer of its own, which `take_over` opens."""

        def failed(problem: Exception) -> None:
            if isinstance(problem, Unavailable):
                lane.fail(problem)
            else:
                self.parts.fail(problem)

        transaction = self._transaction(partition.number, failed)
        self._open.add(transaction)

        publication = InTransactions(transaction, self._wake, self._retire)
        lane = self.lane(partition, transaction, transaction.failed, publication)
        return lane

    async def take_over(self, lanes: Collection[Lane], generation: int) -> None:  # noqa: ARG002 -- it does not fence here
        """Fence all previous owners, so that what they committed can be read then."""
        places = asyncio.Semaphore(OPENINGS)

        async def one(lane: Lane) -> None:
            transaction = in_transactions(lane).transaction
            async with places:
                lane.snapshots.epoch = await transaction.open()
                await find_partitions(transaction.client, self._topics, [lane.partition.number])

        numbers = [lane.partition.number for lane in lanes]
        await find_partitions(self.parts.producer, [self.parts.config.topics.tokens], numbers)
        # All are waited for, so that none is still being opened when this is tried again.
        for problem in await asyncio.gather(*(one(lane) for lane in lanes), return_exceptions=True):
            if problem is not None:
                raise problem

    async def close(self) -> None:
        """Close all producers."""
        for transaction in list(self._open):
            self._retire(transaction)
        await self._closing.settled()
        await super().close()

    def _transaction(self, number: int, failed: Callable[[Exception], None]) -> Transaction:
        config, parts = self.parts.config, self.parts
        name = transactional_id(config.kafka, config.topics.tokens, number)
        timeout_ms = config.worker.transaction_timeout_ms
        size = batch_bytes(parts.settings)

        def make() -> AIOKafkaProducer:
            return make_producer(config.kafka, size, transactional_id=name, transaction_timeout_ms=timeout_ms)

        return Transaction(make, name, config.kafka.group_id, timeout_ms / 1000, failed)

    def _retire(self, transaction: Transaction) -> None:
        if transaction in self._open:
            self._open.remove(transaction)
            self._closing.begin(transaction.close(CLOSE_S), "the end of a transaction")
