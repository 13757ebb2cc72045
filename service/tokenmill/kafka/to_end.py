"""Reading up to an end. A consumer waits for a Kafka that is away without end, and raises nothing meanwhile."""

import time
from collections.abc import Mapping

from aiokafka import AIOKafkaConsumer, TopicPartition

from tokenmill.errors import Unavailable
from tokenmill.kafka.aiokafka_inside import position
from tokenmill.kafka.calls import deadline
from tokenmill.kafka.client_tasks import must_read

SILENT_S = 10.0
"""Seconds without a new position after which Kafka is asked whether it is there."""


class ToEnd:
    """Says when a consumer has given everything before these offsets. Ask it before each poll."""

    def __init__(self, consumer: AIOKafkaConsumer, ends: Mapping[TopicPartition, int], what: str) -> None:
        """`what` names the reading in an error."""
        self._consumer = consumer
        self._ends = ends
        self._what = what
        self._left: dict[TopicPartition, int] = {}
        self._moved_at = time.monotonic()

    async def reached(self) -> bool:
        """Whether nothing is left to read. Raises `Unavailable` if nothing comes and Kafka does not answer."""
        must_read(self._consumer, Unavailable)
        at = {place: position(self._consumer, place) for place in self._ends}
        left = {place: offset for place, offset in at.items() if offset < self._ends[place]}
        now = time.monotonic()
        if left != self._left:
            self._left, self._moved_at = left, now
        elif left and now - self._moved_at > SILENT_S:
            await deadline(self._consumer.end_offsets(list(left)), self._what)
            self._moved_at = now
        return not left
