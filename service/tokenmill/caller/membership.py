"""Whether a member of the group still is one: who stood still may read what is another's by now.

1. A commit that the group takes says that our partitions are ours. From when it was sent they stay ours for a session,
   unless the member is static: another process with its name gets its place immediately. Such a member always asks.
2. Who knows that for more than half a session no more asks before it begins anything, by one more commit.
3. A commit is sent once, by the member that has the partitions. The client's own call sends it again, after a failure,
   as whatever the member is by then: under a new generation, in which another has them, or without one, which the
   broker takes for that of a tool. Requests would be passed over whose answers have no end.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Mapping

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import IllegalGenerationError, UnknownMemberIdError
from aiokafka.structs import OffsetAndMetadata

from tokenmill.errors import Unavailable
from tokenmill.kafka.aiokafka_inside import commit_once, generation_of
from tokenmill.kafka.boot_clock import boot_clock
from tokenmill.kafka.calls import deadline

log = logging.getLogger(__name__)


class Membership:
    """The membership of one consumer, as far as its commits have shown it."""

    def __init__(self, session_s: float, now: Callable[[], float] = boot_clock, *, static: bool = False) -> None:
        self._session_s = session_s
        self._static = static
        self._now = now
        self._known_at = -math.inf
        self._shared_out = 0
        """How often partitions were."""
        self._one_at_a_time = asyncio.Lock()

    def shared_out_anew(self) -> None:
        """The group is about to say whose which partition is. What was under way before says nothing of that."""
        self._shared_out += 1
        self._known_at = -math.inf

    @property
    def known(self) -> bool:
        """Whether nobody else can have our partitions."""
        return not self._static and self._now() - self._known_at < self._session_s / 2

    @property
    def due(self) -> bool:
        """Whether it is time to ask, so that nothing has to wait for that."""
        return self._now() - self._known_at > self._session_s / 4

    async def commit(self, consumer: AIOKafkaConsumer, offsets: Mapping[TopicPartition, int]) -> bool:
        """Whether the group takes these, from a member with these partitions."""
        number = self._shared_out
        async with self._one_at_a_time:  # or an older one might overtake a newer one
            began = self._now()
            if number != self._shared_out or generation_of(consumer) <= 0:
                return False
            marks = {partition: OffsetAndMetadata(offset, "") for partition, offset in offsets.items()}
            try:
                await deadline(commit_once(consumer, marks), "commit")  # see rule 3
            except Unavailable as problem:
                log.info("not committed: %s", problem)
                if isinstance(problem.__cause__, (UnknownMemberIdError, IllegalGenerationError)):
                    self._known_at = -math.inf
                return False
        if number == self._shared_out:
            self._known_at = began
        return number == self._shared_out
