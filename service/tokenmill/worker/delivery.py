"""How outputs and offsets reach the broker: what differs between at-least-once and exactly-once delivery.

The cycle and the order of its steps do not (design 4.3). A delivery makes the lanes, takes partitions over from their
previous owners, and has the committer.
"""

from collections.abc import Callable, Collection
from functools import partial

from aiokafka import AIOKafkaProducer

from tokenmill.kafka.calls import stopped
from tokenmill.kafka.clients import find_partitions
from tokenmill.partition import Partition
from tokenmill.worker.commit import Committer, OffsetCommitter
from tokenmill.worker.inbox import Inbox
from tokenmill.worker.lane import AtOnce, Lane, Publication
from tokenmill.worker.outbox import Outbox, Publisher
from tokenmill.worker.parts import Parts
from tokenmill.worker.sessions import SessionOutbox
from tokenmill.worker.snapshots import SnapshotWriter

STOP_S = 5.0
"""Seconds for stopping each client; a broken one hangs."""


class Delivery:
    """What both kinds have in common."""

    def __init__(self, parts: Parts, writer: SnapshotWriter, committer: Committer) -> None:
        self.parts = parts
        self.committer = committer
        self._writer = writer
        outputs = (spec.topic for spec in parts.settings.outputs)
        self._topics = tuple(dict.fromkeys([*outputs, parts.settings.dlq]))

    def producers(self) -> list[AIOKafkaProducer]:
        """Return every producer that must be alive."""
        raise NotImplementedError

    def make_lane(self, partition: Partition) -> Lane:
        """Make a lane with its ways out, for a partition that was just assigned."""
        raise NotImplementedError

    async def take_over(self, lanes: Collection[Lane], generation: int) -> None:
        """Make these partitions ours, before their previous owners' commits are read. Sets the epochs of snapshots.

        Raises `Unavailable` when the broker does not answer, or does not know their outputs yet; then it may be tried
        again.
        """
        raise NotImplementedError

    async def close(self) -> None:
        """Close all producers."""
        await stopped(self.parts.producer, STOP_S)

    def lane(
        self,
        partition: Partition,
        publisher: Publisher,
        failed: Callable[[Exception], None],
        publication: Publication,
    ) -> Lane:
        """Make a lane whose outputs go to `publisher`; `failed` is called with why one does not arrive."""
        parts, number = self.parts, partition.number
        if parts.sessions is not None:
            parts.sessions.missed()  # the previous owner may not have written all that it published

        def count(topic: str, records: int) -> None:
            parts.numbers.add("tokenmill_records_produced_total", topic, by=records)

        def outbox(topic: str, settle: Callable[[], None]) -> Outbox:
            def acknowledged(records: int) -> None:
                count(topic, records)
                settle()

            if parts.sessions is not None and topic == parts.config.topics.sessions:
                return SessionOutbox(
                    publisher, topic, number, writer=parts.sessions, acknowledged=acknowledged, failed=failed
                )
            return Outbox(publisher, topic, number, acknowledged=acknowledged, failed=failed)

        tokens = partition.topic
        inbox = Inbox(parts.producer, tokens, number, acknowledged=partial(count, tokens), failed=parts.fail)
        snapshots = self._writer.of_lane(partition)
        return Lane(snapshots, self._topics, outbox, inbox, parts.numbers, publication, parts.telemetry)


class AtLeastOnce(Delivery):
    """One idempotent producer for all partitions; offsets are committed by the member of the group."""

    def __init__(self, parts: Parts, writer: SnapshotWriter) -> None:
        super().__init__(parts, writer, OffsetCommitter(parts, writer, parts.config.worker.commit_interval_ms))

    def producers(self) -> list[AIOKafkaProducer]:
        """Return the one."""
        return [self.parts.producer]

    def make_lane(self, partition: Partition) -> Lane:
        """Make a lane that sends its outputs immediately."""
        return self.lane(partition, self.parts.producer, self.parts.fail, AtOnce())

    async def take_over(self, lanes: Collection[Lane], generation: int) -> None:
        """Fence nobody: a previous owner may publish something again, as this one may."""
        numbers = [lane.partition.number for lane in lanes]
        await find_partitions(self.parts.producer, [*self._topics, self.parts.config.topics.tokens], numbers)
        for lane in lanes:
            lane.snapshots.epoch = generation
