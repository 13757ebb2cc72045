"""Whether the topic is still the log that is being read, checked once a second (design 4.13).

Nothing else would show it. The client asks for partitions by the topic's name and for records by their offsets. Both
exist in a topic that was made again, and in a log that lost its end and continued with other records.
"""

import logging

from tokenmill.errors import Unavailable
from tokenmill.kafka.aiokafka_inside import network
from tokenmill.kafka.topic_log import TopicLog, extents, look
from tokenmill.partition import UNKNOWN_LOG, Mark
from tokenmill.worker.engine import Engine
from tokenmill.worker.lane import Lane, Phase

log = logging.getLogger(__name__)

ROUND_S = 1.0
"""Seconds between two looks: one small request to one broker."""


class LogWatch:
    """Watches the logs of the owned partitions."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._checked: dict[tuple[str, int], int] = {}
        """Last leader epoch checked, by topic id and partition; a recreated topic starts over."""
        self._answered = True

    async def look(self) -> None:
        """Look once. What can't be answered now is asked again at the next look."""
        lanes = {tp.partition: lane for tp, lane in self._engine.lanes.items() if lane.phase is Phase.LIVE}
        if not lanes:
            return
        try:
            await self._look(lanes)
            self._answered = True
        except Unavailable as problem:
            if self._answered:  # a broker that is away is away for many looks
                log.info("whether the topic is still the same is not known now: %s", problem)
            self._answered = False

    async def _look(self, lanes: dict[int, Lane]) -> None:
        topic, client = self._engine.config.topics.tokens, network(self._engine.consumer)
        known = next((lane.partition.log for lane in lanes.values()), UNKNOWN_LOG)
        found = await look(client, topic, known)
        gone = [lane for lane in lanes.values() if lane.partition.log.is_another(found.log)]
        gone = gone or await self._cut(found, lanes)
        for lane in gone:
            log.warning("%s/%d: the log is no longer the one that was read", *lane.topic_partition)
        if gone:
            await self._engine.ownership.begin_again(gone)

    async def _cut(self, found: TopicLog, lanes: dict[int, Lane]) -> list[Lane]:
        """Return the lanes that have read what their log, under a new leader, does not hold."""
        epochs = {number: leader.epoch for number, leader in found.leaders.items() if number in lanes}
        log_id = found.log.topic
        checked = {number: self._checked.get((log_id, number), lanes[number].partition.epoch) for number in epochs}
        newer = [number for number, epoch in epochs.items() if epoch > checked[number]]
        if not newer:
            return []
        topic, client = self._engine.config.topics.tokens, network(self._engine.consumer)
        marks = {number: _mark(lanes[number]) for number in newer}
        ends = await extents(client, topic, marks)
        self._checked |= {(log_id, number): epochs[number] for number in newer}
        return [lanes[number] for number, mark in marks.items() if ends[number].agreed < mark.offset]


def _mark(lane: Lane) -> Mark:
    """Return the mark of where it stands, as if that were committed."""
    partition = lane.partition
    return Mark(partition.offset, partition.offset, "", log=partition.log, epoch=partition.epoch)
