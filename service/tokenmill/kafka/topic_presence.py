"""Whether the topic that a member of a group reads is there, and the group has given it partitions.

Without the topic the group gives the member no partitions, as it does to one for which none is left; and the client
would notice a topic that was made again only when its view of topics is old (`clients.METADATA_MS`).
"""

import asyncio
import logging
import math
from contextlib import suppress

from aiokafka import AIOKafkaConsumer

from tokenmill.errors import Unavailable
from tokenmill.kafka.aiokafka_inside import network
from tokenmill.kafka.calls import deadline

log = logging.getLogger(__name__)

AGAIN_S = 1.0
"""Seconds between two looks for a topic that is not there."""


class TopicPresence:
    """Looks for one topic while it is missing."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._looked_at = -math.inf
        self.missing = ""
        """What is wrong, and what to do; empty while the topic is there."""
        self.assigned = False
        """Whether the group has given partitions. An assignment while the topic is missing does not count."""

    @property
    def lacks(self) -> str:
        """Return what the member lacks to be ready; empty if it has its share, which may be no partition."""
        return self.missing or ("" if self.assigned else "the group has given no partitions yet")

    async def look(self, consumer: AIOKafkaConsumer) -> None:
        """Note whether it is there, as far as the consumer has heard; where it is not, have the consumer ask again."""
        if consumer.assignment() or consumer.partitions_for_topic(self._topic):
            self.missing = ""
            return
        if not self.missing:
            self.missing = f"no topic {self._topic}: `tokenmill topics create` makes it"
            log.warning("%s", self.missing)
        self.assigned = False
        now = asyncio.get_running_loop().time()
        if now - self._looked_at >= AGAIN_S:
            self._looked_at = now
            with suppress(Unavailable):  # the next look is soon
                await deadline(network(consumer).force_metadata_update(), "look for a topic")
