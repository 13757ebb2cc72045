"""Ends of partitions that are believed: a broker that has not heard of a newer leader reports an old end for a while.

Where nothing else shows whether a leader is up to date, an end below an offset that is known to have been reached is
looked up again for some seconds. A log that really lost its last records is believed after that.
"""

import time
from collections.abc import Callable, Mapping

from aiokafka import TopicPartition

from tokenmill.errors import Unavailable

BELIEF_S = 5.0
"""Seconds for which an end is doubted: longer than a broker that woke up needs to hear of the others."""

FORGOTTEN_S = 60.0
"""Seconds without a look after which a doubt is over: two tries are closer together."""


class BelievedEnds:
    """The ends that are doubted."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._doubted: dict[TopicPartition, tuple[float, float]] = {}
        """Since when, and when it was looked up last."""

    def believe(self, found: Mapping[TopicPartition, tuple[int, int]]) -> None:
        """Take the end of each partition, with the offset that it had reached.

        Raises `Unavailable` while one can't be believed: it has to be looked up again.
        """
        now = self._clock()
        for place, (end, reached) in found.items():
            if end < reached:
                since, last = self._doubted.get(place, (now, now))
                self._doubted[place] = (since if now - last < FORGOTTEN_S else now), now
            else:
                self._doubted.pop(place, None)
        for place, (end, reached) in found.items():
            if place in self._doubted and now - self._doubted[place][0] < BELIEF_S:
                raise Unavailable(
                    f"Kafka: {place.topic}/{place.partition} ends at {end}, below what is committed, {reached}, "
                    "and nothing shows whether its leader is up to date"
                )
