"""What every restore begins with: what the group committed, and what the topic holds now."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition

from tokenmill.kafka.aiokafka_inside import network
from tokenmill.kafka.believed_ends import BelievedEnds
from tokenmill.kafka.group import committed_offsets
from tokenmill.kafka.topic_log import Extent, extents_of
from tokenmill.partition import Mark, Move


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
        self._ends = BelievedEnds(clock)

    async def of(
        self, partitions: Sequence[TopicPartition], commits: Mapping[TopicPartition, Committed]
    ) -> dict[TopicPartition, Extent]:
        """Return the extents by partition. Raises `Unavailable` while one can't be believed; try again then."""
        marks = {tp: _mark(commits.get(tp)) for tp in partitions}
        found = await extents_of(network(self._consumer), marks)
        self._ends.believe({tp: (extent.end, _reached(commits.get(tp), extent)) for tp, extent in found.items()})
        return found


def _mark(commit: Committed | None) -> Mark | None:
    return commit.mark if commit else None


def _reached(commit: Committed | None, extent: Extent) -> int:
    """The offset that the log had reached; 0 where the topic's id or an epoch explains an end below the commit."""
    if commit is None or extent.shared is not None:
        return 0
    return 0 if commit.mark is not None and commit.mark.log.is_another(extent.log) else commit.offset
