"""What has been open for too long is closed through the log, though it still gets chunks (design 4.1).

A message that never ends, or a stream that nobody ends, holds the low-water mark: replays become longer and longer, and
one day retention takes the beginning. Its age is told by the log, so that it goes on counting through restarts: the
broker knows the first record that is younger than `worker.max_age_s`, and what opened before that is too old. One
producer's clock can't close anything by itself, as every record before that one is older by its own timestamp.
"""

import logging
import time
from collections.abc import Iterable
from typing import Any

from aiokafka import TopicPartition

from tokenmill.errors import Unavailable
from tokenmill.kafka import deadline
from tokenmill.worker.engine import Engine
from tokenmill.worker.lane import Lane, Phase

log = logging.getLogger(__name__)

ROUNDS = 100
"""The broker is asked so many times within the greatest age, at most twice a second and at least once a minute."""

SHORTEST_ROUND_S = 0.5
LONGEST_ROUND_S = 60.0


def round_seconds(max_age: float) -> float:
    """How often to ask."""
    return min(max(max_age / ROUNDS, SHORTEST_ROUND_S), LONGEST_ROUND_S)


class AgeCloser:
    """Writes control records for messages and streams that are too old."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._max_age_ms = int(engine.config.worker.max_age_s * 1000)

    async def look(self) -> None:
        """Close what is too old. A broker that does not answer is asked again in the next round."""
        lanes = {tp: lane for tp, lane in self._engine.lanes.items() if self._current(tp, lane)}
        try:
            young = await self._first_young(lanes)
        except Unavailable as problem:
            log.info("how old messages are is not known now: %s", problem)
            return
        for tp, lane in lanes.items():
            # Where no record is young there is nothing to do: what gets no records is idle.
            if lane.phase is Phase.LIVE and young[tp] is not None:
                lane.write_controls(lane.partition.opened_before(young[tp].offset))

    def _current(self, tp: TopicPartition, lane: Lane) -> bool:
        """Whether all is read, what was written here before included."""
        return lane.phase is Phase.LIVE and lane.inbox.acked == lane.inbox.begun and self._engine.caught_up(tp)

    async def _first_young(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, Any]:
        """The first record of each that is not too old, None where there is none."""
        times = dict.fromkeys(places, max(0, int(time.time() * 1000) - self._max_age_ms))
        if not times:
            return {}
        found: dict[TopicPartition, Any] = await deadline(
            self._engine.consumer.offsets_for_times(times), "offsets by time"
        )
        return found
