"""Two processes with one `kafka.group_instance_id` take each other's place in the group again and again, and both read.

The broker does not refuse the second: it takes it for the first one, restarted, and a restart must not wait. So each
newcomer gets the place, under a new member id in the same generation; the process that had it notices with its next
heartbeat and takes it back in the same way. The sign is a member id that changes while the generation does not: a
member whose session ran out comes back in a new one.

1. A newcomer that is replaced within its first session ends: another process was there before and is alive.
2. One that has been there for longer stays, and ends only if the replacements do not stop. Then both have been there
   for long, as when one of them was suspended.
"""

import time
from collections import deque
from collections.abc import Callable

from tokenmill.config import Kafka
from tokenmill.errors import FatalError

REPLACEMENTS = 5
"""Replacements after which a member that has been there for long ends, if they come within `HEARTBEATS`."""

HEARTBEATS = 20
"""Heartbeats within which those replacements are a fight. Two that fight replace each other at every other one; a
newcomer that ends, and is started again with growing pauses, comes less often."""


class StaticMembership:
    """This process's place in the group."""

    def __init__(self, kafka: Kafka, clock: Callable[[], float] = time.monotonic) -> None:
        self._instance_id = kafka.group_instance_id
        self._session_s = kafka.session_timeout_ms / 1000
        self._window_s = HEARTBEATS * kafka.heartbeat_interval_ms / 1000
        self._clock = clock
        self._since: float | None = None
        self._place = ("", -1)
        self._replaced: deque[float] = deque(maxlen=REPLACEMENTS)

    def joined(self, member_id: str, generation: int) -> None:
        """Note the place that the group gave this process. Raises `FatalError` if another process fights for it."""
        now, before = self._clock(), self._place
        self._place = (member_id, generation)
        if self._since is None:
            self._since = now
        elif self._instance_id and generation == before[1] and member_id != before[0]:
            self._replaced.append(now)
            new = now - self._since <= self._session_s
            often = len(self._replaced) == REPLACEMENTS and now - self._replaced[0] <= self._window_s
            if new or often:
                raise FatalError(
                    f"another process has taken this one's place in the group: kafka.group_instance_id "
                    f"{self._instance_id!r} must be that of one process alone"
                )
