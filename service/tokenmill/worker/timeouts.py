"""Messages that are idle for too long, or too old, are closed through the log (design 4.1).

Time and memory enter through the log alone: a message that is to end gets a record in its own partition. The record is
read like any other and only then ends the message, so that a replay does the same. One for an idle message names the
message's last offset, and is ignored if newer chunks came before it.

A message or stream that never ends gets chunks, so it is not idle, but it holds the low-water mark: replays become
longer and longer, and one day retention deletes the beginning. Its age is taken from the log, so that it counts through
restarts: the broker finds the first record that is younger than `worker.max_age_s`, and what opened before that is too
old. One producer's clock can't close anything by itself, as every record before that one is older by its own timestamp.
"""

import logging
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from aiokafka import TopicPartition

from tokenmill.errors import Unavailable
from tokenmill.kafka.calls import deadline
from tokenmill.limits import MIB
from tokenmill.partition import size_of
from tokenmill.worker.engine import Engine
from tokenmill.worker.lane import Lane, Phase

log = logging.getLogger(__name__)

RELIEF = 10
"""When memory runs short, one message or stream in this many is closed, the longest idle ones first."""


class Rounds(NamedTuple):
    """How often to look: this many times within a time-out, with bounds for the pause between."""

    number: int
    shortest_s: float
    longest_s: float

    def seconds(self, timeout: float) -> float:
        """Return the seconds between two looks."""
        return min(max(timeout / self.number, self.shortest_s), self.longest_s)


IDLE_ROUNDS = Rounds(10, 0.2, 5.0)
"""Looks at messages within the idle timeout."""

AGE_ROUNDS = Rounds(100, 0.5, 60.0)
"""Requests to the broker within the greatest age."""


class IdleCloser:
    """Writes control records for messages that get no more chunks."""

    def __init__(self, engine: Engine) -> None:
        worker = engine.config.worker
        self._engine = engine
        self._timeout_ms = int(worker.idle_timeout_s * 1000)
        self._state_bytes = worker.state_mib * MIB

    def look(self) -> None:
        """Close what is idle; when all that is open exceeds its cap, also the longest idle of the rest.

        What has ended does not count: neither an end nor a pause would make it smaller. A lane that has yet to read
        the records that close its longest idle is left alone.
        """
        live = [lane for lane in self._engine.lanes.values() if lane.phase is Phase.LIVE]
        current = [lane for lane in live if _came_round(lane)]
        for lane in live:
            # Behind a backlog a message looks idle though its chunks are only waiting to be read.
            if self._engine.caught_up(lane.topic_partition):
                lane.write_controls(lane.partition.idle(int(self._engine.clock() * 1000), self._timeout_ms))
        if size_of([lane.partition for lane in live]) > self._state_bytes:
            self._relieve(current)

    def _relieve(self, lanes: Iterable[Lane]) -> None:
        log.warning("open messages exceed worker.state_mib: pausing input and closing the longest idle")
        for lane in lanes:
            if held := lane.partition.open_messages + lane.partition.open_streams:
                lane.write_controls(lane.partition.longest_idle(max(1, held // RELIEF)))
                lane.hold = lane.inbox.begun
                self._engine.pause(lane)


def _came_round(lane: Lane) -> bool:
    """Whether it has read the control records that were written here before.

    Behind a backlog that takes a while, and until then nothing ends: more records would only be more backlog.
    """
    return lane.inbox.acked == lane.inbox.begun and lane.partition.offset >= lane.inbox.end


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
        """Whether everything is read, the control records that were written here before included."""
        return lane.phase is Phase.LIVE and lane.inbox.acked == lane.inbox.begun and self._engine.caught_up(tp)

    async def _first_young(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, Any]:
        """Return the first record of each that is not too old, None where there is none."""
        times = dict.fromkeys(places, max(0, int(time.time() * 1000) - self._max_age_ms))
        if not times:
            return {}
        found: dict[TopicPartition, Any] = await deadline(
            self._engine.consumer.offsets_for_times(times), "offsets by time"
        )
        return found
