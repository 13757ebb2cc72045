"""What every restore begins with: what the group committed, and what the topic holds now."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition

from tokenmill.errors import Unavailable
from tokenmill.kafka.aiokafka_inside import network
from tokenmill.kafka.group import committed_offsets
from tokenmill.kafka.topic_log import Extent, extents_of
from tokenmill.partition import Mark, Move

BELIEF_S = 5.0
"""Seconds for which a log that ends below what is committed is looked at again, where no epoch shows whether its leader
is up to date: longer than a broker that woke up needs to hear of the others."""


class Committed(NamedTuple):
    """What the broker has of a group's partition."""

    offset: int
    mark: Mark | None
    """None: the offset was set by something other than a worker."""
    move: Move | None = None
    """Such an offset, understood: the mark is made up (see `moved`), and this is known of what was processed before."""


async def commits(consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Committed]:
    """Return offsets with their marks."""
    found = await committed_offsets(consumer, partitions)
    return {tp: Committed(item.offset, Mark.decode(item.metadata)) for tp, item in found.items()}


class BelievedExtents:
    """What the topic holds, looked up until it can be believed."""

    def __init__(self, consumer: AIOKafkaConsumer, clock: Callable[[], float]) -> None:
        self._consumer = consumer
        self._clock = clock
        self._doubted: float | None = None

    async def of(
        self, partitions: Sequence[TopicPartition], commits: Mapping[TopicPartition, Committed]
    ) -> dict[TopicPartition, Extent]:
        """Return the extents by partition. Raises `Unavailable` while one can't be believed; try again then."""
        marks = {tp: _mark(commits.get(tp)) for tp in partitions}
        found = await extents_of(network(self._consumer), marks)
        self._doubt(found, commits)
        return found

    def _doubt(self, found: Mapping[TopicPartition, Extent], commits: Mapping[TopicPartition, Committed]) -> None:
        short = [tp for tp, extent in found.items() if tp in commits and _doubtful(commits[tp], extent)]
        if not short:
            self._doubted = None
            return
        self._doubted = self._doubted or self._clock()
        if self._clock() - self._doubted < BELIEF_S:
            tp = short[0]
            raise Unavailable(
                f"Kafka: {tp.topic}/{tp.partition} ends at {found[tp].end}, below what is committed, "
                f"{commits[tp].offset}, and nothing shows whether its leader is up to date"
            )


def _mark(commit: Committed | None) -> Mark | None:
    return commit.mark if commit else None


def _doubtful(commit: Committed, extent: Extent) -> bool:
    """Whether the end is below the commit, and neither the topic's id nor an epoch explains it."""
    mark = commit.mark
    if commit.offset <= extent.end or extent.shared is not None:
        return False
    return mark is None or not mark.log.is_another(extent.log)
