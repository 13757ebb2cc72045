"""Whether we still are a member of the group: after a suspension, our partitions may be another member's.

1. A commit that the group takes proves that our partitions are ours. They stay ours for a session from when it was
   sent, unless the member is static: another process with its name gets its place immediately. Such a member always
   asks.
2. If the last proof is older than half a session, the member asks the group, by another commit, before it begins
   anything.
3. A commit is sent once, by the member that has the partitions. The client's own call would send it again after a
   failure, in the member's new state: with a new generation, in which another member may have the partitions, or
   without one, which the broker takes for a commit by a tool. Requests would be skipped whose answers have no end.
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
    """The membership of one consumer, as proved by its commits."""

    def __init__(self, session_s: float, now: Callable[[], float] = boot_clock, *, static: bool = False) -> None:
        self._session_s = session_s
        self._static = static
        self._now = now
        self._known_at = -math.inf
        self._rebalances = 0
        """Number of rebalances so far."""
        self._one_at_a_time = asyncio.Lock()

    def rebalanced(self) -> None:
        """Note a rebalance: commits that were sent before prove nothing about the new assignment."""
        self._rebalances += 1
        self._known_at = -math.inf

    @property
    def known(self) -> bool:
        """Whether no other member can have our partitions."""
        return not self._static and self._now() - self._known_at < self._session_s / 2

    @property
    def due(self) -> bool:
        """Whether it is time for another commit, so that no request has to wait for one."""
        return self._now() - self._known_at > self._session_s / 4

    async def commit(self, consumer: AIOKafkaConsumer, offsets: Mapping[TopicPartition, int]) -> bool:
        """Commit offsets. Return whether the group took them, and there was no rebalance meanwhile."""
        number = self._rebalances
        async with self._one_at_a_time:  # else a later commit could overtake this one
            began = self._now()
            if number != self._rebalances or generation_of(consumer) <= 0:
                return False
            marks = {partition: OffsetAndMetadata(offset, "") for partition, offset in offsets.items()}
            try:
                await deadline(commit_once(consumer, marks), "commit")  # rule 3
            except Unavailable as problem:
                log.info("offsets were not committed; they stay due while the partitions are ours: %s", problem)
                if isinstance(problem.__cause__, (UnknownMemberIdError, IllegalGenerationError)):
                    self._known_at = -math.inf
                return False
        if number == self._rebalances:
            self._known_at = began
        return number == self._rebalances
