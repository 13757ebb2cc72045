"""Input partitions that wait until the outputs have as many (see `output_partitions`), and then continue."""

import logging

from aiokafka import TopicPartition

from tokenmill.errors import Unavailable
from tokenmill.kafka.clients import make_admin
from tokenmill.kafka.topics import output_topics, partition_counts
from tokenmill.worker.engine import Engine
from tokenmill.worker.lane import Phase

log = logging.getLogger(__name__)

ROUND_S = 2.0
"""Seconds between two looks at the outputs while something is held."""


class HeldWatch:
    """Watches the outputs while partitions are held, and releases those that have a place."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def look(self) -> None:
        """Look up how many partitions the outputs have, if something waits for more. The next look tries again."""
        held = {tp: lane for tp, lane in self._engine.lanes.items() if lane.phase is Phase.HELD}
        if not held:
            return
        config, outputs = self._engine.config, self._engine.output_partitions
        try:
            async with make_admin(config.kafka) as admin:
                outputs.learn(await partition_counts(admin, [config.topics.tokens, *output_topics(config)]))
        except Unavailable as problem:
            log.info("whether the outputs have grown is not known now: %s", problem)
            return
        free = {tp: lane for tp, lane in held.items() if tp.partition < outputs.partitions}
        if free:
            log.info("the outputs have partitions %s now", [tp.partition for tp in free])
            self._engine.ownership.let_go(free)


def held(engine: Engine) -> list[TopicPartition]:
    """The partitions that are held now."""
    return sorted(tp for tp, lane in engine.lanes.items() if lane.phase is Phase.HELD)
