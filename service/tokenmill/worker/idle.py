"""Time and memory enter through the log: what is idle for too long is closed by a record in its own partition.

The record comes round like any other and only then ends the message, so that a replay does the same (design 4.1). It
names the last offset that its message had, and is ignored if newer chunks have come before it.
"""

import logging
from collections.abc import Iterable

from tokenmill.limits import MIB
from tokenmill.partition import size_of
from tokenmill.worker.engine import Engine
from tokenmill.worker.lane import Lane, Phase

log = logging.getLogger(__name__)

ROUNDS = 10
"""Messages are looked at so many times within the idle timeout, at most once and at least every few seconds."""

SHORTEST_ROUND_S = 0.2
LONGEST_ROUND_S = 5.0

RELIEF = 10
"""When memory runs short, one message or stream in so many is closed, the longest idle ones first."""


def round_seconds(timeout: float) -> float:
    """How often to look."""
    return min(max(timeout / ROUNDS, SHORTEST_ROUND_S), LONGEST_ROUND_S)


class IdleCloser:
    """Writes control records for messages that get no more chunks."""

    def __init__(self, engine: Engine) -> None:
        worker = engine.config.worker
        self._engine = engine
        self._timeout_ms = int(worker.idle_timeout_s * 1000)
        self._state_bytes = worker.state_mib * MIB

    def look(self) -> None:
        """Close what is idle; when all that is open is over its cap, also the longest idle of what is not.

        What has ended does not count: no message would make it smaller by ending, and no pause. A lane that has
        still to read what closes its longest idle is left alone.
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
        log.warning("what is open takes more than worker.state_mib: input pauses, and the longest idle is closed")
        for lane in lanes:
            if held := lane.partition.open_messages + lane.partition.open_streams:
                lane.write_controls(lane.partition.longest_idle(max(1, held // RELIEF)))
                lane.hold = lane.inbox.begun
                self._engine.pause(lane)


def _came_round(lane: Lane) -> bool:
    """Whether it has read what was written here before.

    Behind a backlog that takes a while, and until then nothing ends: more of it would only be more backlog.
    """
    return lane.inbox.acked == lane.inbox.begun and lane.partition.offset >= lane.inbox.end
