"""Where a caller begins to read each partition that the group gives it, and which requests there are inherited.

1. A partition is read from its committed offset, or from the oldest request whose time is not over. Requests before its
   end are inherited: another caller may have begun them.
2. Each partition is placed by itself, and is paused until then. One whose leader is away holds up no other, and waits
   for as long as that takes: ending the process would cut off answers that run, and the next owner would wait as well.
3. The assignment waits for its partitions, so that of a caller which is ready later requests are not inherited, except
   of partitions that take longer. It does not wait for long: the client sends no heartbeat meanwhile, and the group
   would give the partitions to the next caller.
"""

import math
import time
from collections.abc import Callable, Collection

from aiokafka import AIOKafkaConsumer, TopicPartition

from tokenmill.caller.offsets import Offsets
from tokenmill.kafka.believed_ends import BelievedEnds
from tokenmill.kafka.calls import until_available
from tokenmill.kafka.group import committed_offsets
from tokenmill.kafka.lookup import bounds_of, offsets_since
from tokenmill.tasks import Tasks

ASSIGNMENT_S = 5.0
"""Seconds for which an assignment waits at most."""

OF_SESSION = 1 / 3
"""Share of the session for which it waits at most: the first heartbeat comes an interval later, another third."""


class Placing:
    """Places partitions, one task for each.

    Args:
        answer_s: seconds that an answer has.
        session_s: seconds of the group's session.
        placed: called with a partition and its offsets when it is read from then on.
        fail: called with an error that no repetition cures.
    """

    def __init__(
        self,
        answer_s: float,
        session_s: float,
        placed: Callable[[TopicPartition, Offsets], None],
        fail: Callable[[Exception], None],
    ) -> None:
        self._answer_s = answer_s
        self._wait_s = min(ASSIGNMENT_S, session_s * OF_SESSION)
        self._placed = placed
        self._fail = fail
        self._ends = BelievedEnds()
        self._tasks = Tasks()

    async def begin(self, consumer: AIOKafkaConsumer, places: Collection[TopicPartition]) -> None:
        """Place these partitions. Wait for them for a moment; those that take longer are placed later."""
        consumer.pause(*places)
        for place in places:
            self._tasks.begin(self._place(consumer, place), f"the beginning of {place}")
        await self._tasks.settled(self._wait_s)

    async def close(self) -> None:
        """Place nothing more: the partitions may be another caller's."""
        await self._tasks.close()

    async def _place(self, consumer: AIOKafkaConsumer, place: TopicPartition) -> None:
        try:
            offsets = await until_available(lambda: self._find(consumer, place), math.inf)
            consumer.seek(place, offsets.read)
            consumer.resume(place)
        except Exception as problem:  # noqa: BLE001 -- any error ends the process, which reports it
            self._fail(problem)
        else:
            self._placed(place, offsets)

    async def _find(self, consumer: AIOKafkaConsumer, place: TopicPartition) -> Offsets:
        """Look up where a partition is read from, and its end. Raises `Unavailable`."""
        committed = (await committed_offsets(consumer, [place])).get(place)
        first, end = await bounds_of(consumer, place)
        if committed is not None:
            begin = committed.offset
            self._ends.believe({place: (end, begin)})
        else:
            oldest = int((time.time() - self._answer_s) * 1000)
            begin = (await offsets_since(consumer, [place], oldest))[place]
        return Offsets(min(max(begin, first), end), end)
