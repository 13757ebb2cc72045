"""Input partitions that an output has no partition for are held: assigned, not read, not committed (design 4.12).

Every output record goes to the partition with its input's number. Where partitions were added to the input first, the
outputs have none for the new ones: a record from there can't be published, and a worker that tried would take the other
partitions down with it. So they wait, and continue once the outputs have grown; log, `/readyz` and a gauge show what
they wait for.
"""

import logging
from collections.abc import Iterable, Mapping

from aiokafka import AIOKafkaConsumer, TopicPartition

from tokenmill.worker.lane import Lane, Phase

log = logging.getLogger(__name__)

UNLIMITED = 1 << 31
"""More partitions than a topic can have: stands for outputs that were not counted."""


class OutputPartitions:
    """How many partitions the outputs have."""

    def __init__(self, tokens: str = "", counts: Mapping[str, int] | None = None) -> None:
        """`counts` are those of the input, which is called `tokens`, and of all outputs."""
        self._tokens = tokens
        self._counts: Mapping[str, int] = counts or {}

    @property
    def partitions(self) -> int:
        """How many partitions every output has: input partitions from this number on are held."""
        outputs = [count for topic, count in self._counts.items() if topic != self._tokens]
        return min(outputs, default=UNLIMITED)

    def hold(self, lanes: Iterable[Lane], consumer: AIOKafkaConsumer) -> list[TopicPartition]:
        """Hold those of the paused lanes whose partition an output lacks; return which."""
        held = [lane for lane in lanes if lane.partition.number >= self.partitions]
        for lane in held:
            lane.phase = Phase.HELD
            consumer.seek(lane.topic_partition, 0)  # any offset: without a position every read would ask for one
        if held:
            numbers = sorted(lane.partition.number for lane in held)
            log.error("partitions %s are held: %s", numbers, self.sentence(numbers[-1]), extra={"partitions": numbers})
        return [lane.topic_partition for lane in held]

    def learn(self, counts: Mapping[str, int]) -> None:
        """Take over new counts; a topic that is missing among them keeps its count."""
        self._counts = {**self._counts, **counts}

    def sentence(self, number: int) -> str:
        """Why the input partition `number` is held, and the command that fixes it."""
        wanted = max(self._counts.get(self._tokens, 0), number + 1)
        short = {topic: count for topic, count in self._counts.items() if topic != self._tokens and count < wanted}
        which = ", ".join(f"topic {topic} has {count} partitions" for topic, count in short.items())
        return f"{which}, {self._tokens} has {wanted}: `tokenmill topics create --partitions {wanted}` adds them"
