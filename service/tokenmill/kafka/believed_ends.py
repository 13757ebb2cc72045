"""Ends of partitions that are believed: a broker that has not heard of a newer leader reports an old end for a while.

Where nothing else shows whether a leader is up to date, an end below an offset that is known to have been reached is
looked up again for some seconds. A log that really lost its last records is believed after that.
"""

import math
import time
from collections.abc import Callable, Mapping

from aiokafka import TopicPartition

from tokenmill.errors import Unavailable

BELIEF_S = 5.0
"""Seconds for which an end is doubted: longer than a broker that woke up needs to hear of the others."""


class BelievedEnds:
    """The ends that are doubted, and since when."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._doubted: dict[TopicPartition, float] = {}

    def believe(self, found: Mapping[TopicPartition, tuple[int, int]]) -> None:
        """Take the end of each partition, with the offset that it had reached.

        Raises `Unavailable` while one can't be believed: it has to be looked up again.
        """
        now = self._clock()
        for place, (end, reached) in found.items():
            if end < reached:
                self._doubted.setdefault(place, now)
            else:
                self._doubted.pop(place, None)
        for place, (end, reached) in found.items():
            if now - self._doubted.get(place, -math.inf) < BELIEF_S:
                raise Unavailable(
                    f"Kafka: {place.topic}/{place.partition} ends at {end}, below what is committed, {reached}, "
                    "and nothing shows whether its leader is up to date"
                )
