"""Nothing dies silently (design 4.11): what the client would pass over is checked once a second.

Each check yields a sentence about what is wrong, if anything is. A sentence ends the process with exit code 1, and the
supervisor starts a new one, which recovers. The event loop itself is watched from a thread: if it does not turn,
nothing else here does.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple

from aiokafka import TopicPartition

from tokenmill.errors import FatalError
from tokenmill.kafka.aiokafka_inside import coordinator_id, heartbeat_task, reading_tasks, sending_task
from tokenmill.kafka.client_tasks import ended
from tokenmill.observe import Numbers
from tokenmill.process import say_and_exit
from tokenmill.worker.engine import Engine
from tokenmill.worker.lane import Lane, Phase

LOOK_S = 1.0

LONGEST_LOOK_S = 10.0
"""Seconds that a look counts for at most: while a process was suspended it saw nothing stand still."""


class Seen(NamedTuple):
    """A value that was looked at, and since when it has been the same."""

    value: object
    since: float
    """In seconds that were watched."""


class Watch:
    """Watches one engine. `patience` is how many seconds without progress are too many."""

    def __init__(self, engine: Engine, patience: float) -> None:
        self._engine = engine
        self._patience = patience
        self._rebalance_s = engine.config.kafka.rebalance_timeout_ms / 1000
        self._looked_at = engine.clock()
        self._watched_s = 0.0
        self._before: dict[object, Seen] = {}
        self._now: dict[object, Seen] = {}

    def look(self) -> None:
        """Raise `FatalError` for the first thing that is wrong."""
        for problem in self.problems():
            raise FatalError(problem)

    def problems(self) -> Iterator[str]:
        """Yield everything that is wrong now. What is not looked at this time starts over the next time."""
        self._before, self._now = self._now, {}
        looked_at = self._engine.clock()
        self._watched_s += min(looked_at - self._looked_at, LONGEST_LOOK_S)
        self._looked_at = looked_at
        yield from self._dead_tasks()
        yield from self._outside()
        for tp, lane in self._engine.lanes.items():
            yield from self._silent(tp, lane)
            yield from self._unacknowledged(tp, lane)
            yield from self._stuck(tp, lane)

    def _dead_tasks(self) -> Iterator[str]:
        """The client's background tasks: without them `getmany` and `send` still run, and do nothing."""
        consumer = self._engine.consumer
        tasks = [*reading_tasks(consumer).items()]
        tasks += [("sending", sending_task(producer)) for producer in self._engine.delivery.producers()]
        yield from ended(tasks)
        # It also ends when the group has forgotten this member; then the client joins again, which takes a moment.
        heartbeats = heartbeat_task(consumer)
        if heartbeats is not None and heartbeats.done() and self._too_long("heartbeats", heartbeats):
            yield f"the Kafka client has sent no heartbeats for {self._patience:g} s"

    def _outside(self) -> Iterator[str]:
        """No coordinator of the group, or no answer to a member that wants to join it."""
        coordinator = coordinator_id(self._engine.consumer)
        if coordinator is None and self._too_long("coordinator", None):
            yield f"no coordinator of the group for {self._patience:g} s"
        # Others may take all of the rebalance timeout before everybody can join.
        allowed = self._patience + self._rebalance_s
        if self._engine.ownership.outside and self._too_long("outside", None, allowed):
            yield f"no place in the group for {allowed:g} s"

    def _silent(self, tp: TopicPartition, lane: Lane) -> Iterator[str]:
        """Not even empty answers come, of which fetches get many a second; the end of the partition is unknown then."""
        consumer = self._engine.consumer
        read = lane.phase is Phase.LIVE and not lane.paused and tp in consumer.assignment()
        if read and self._too_long((tp, "silence"), consumer.last_poll_timestamp(tp)):
            yield f"{tp.topic}/{tp.partition}: no answer to a fetch for {self._patience:g} s"

    def _unacknowledged(self, tp: TopicPartition, lane: Lane) -> Iterator[str]:
        """Each topic by itself: one that acknowledges nothing stops the commits, while outputs to others move on."""
        for topic, box in (*lane.outboxes.items(), (tp.topic, lane.inbox)):
            if box.acked < box.begun and self._too_long(box, box.acked):
                what = f"unacknowledged output to {topic}"
                yield f"{tp.topic}/{tp.partition}: {what} without progress for {self._patience:g} s"

    def _stuck(self, tp: TopicPartition, lane: Lane) -> Iterator[str]:
        """Lag, a restore, or unacknowledged output, and nothing moves. Input may move on while outputs do not."""
        end, offset, phase = self._engine.end(tp), lane.partition.offset, lane.phase
        behind = end is not None and max(offset, self._engine.position(tp)) < end
        done: tuple[object, ...]
        allowed = self._patience
        if lane.in_flight or lane.paused:
            what, done = "unacknowledged output", (lane.acknowledged, lane.inbox.acked, lane.committed)
        elif phase is Phase.RESTORING:
            what, (done, allowed) = "state restoring", self._restoring(lane)
        elif phase is not Phase.HELD and (behind or phase is not Phase.LIVE):
            what, done = "lag" if phase is Phase.LIVE else f"state {phase.value}", (offset,)
        else:
            return
        if self._too_long((tp, what), done, allowed):
            yield f"{tp.topic}/{tp.partition}: {what} without progress for {allowed:g} s at offset {offset}"

    def _restoring(self, lane: Lane) -> tuple[tuple[object, ...], float]:
        """What moves while a lane is restored, and how long it may stand still.

        A few have their turn, each for as long as a load of its snapshot may take and some more. The others advance
        when one of these is done. Before the first has its turn only Kafka is asked.
        """
        turns = sum(each.placed for each in self._engine.lanes.values())
        done = ("in turn",) if lane.placed else ("waiting", turns)
        return done, self._patience + (self._engine.store.load_s if turns else 0.0)

    def _too_long(self, key: object, value: object, allowed: float | None = None) -> bool:
        """Whether this value has been the same for longer than the patience, or what is allowed."""
        before = self._before.get(key)
        seen = before if before is not None and before.value == value else Seen(value, self._watched_s)
        self._now[key] = seen
        return self._watched_s - seen.since > (self._patience if allowed is None else allowed)


class Pulse:
    """The event loop's pulse: beaten by the loop, felt by a thread.

    The thread counts its own looks, so that a process that was suspended is not taken for dead.
    """

    def __init__(self, patience: float, numbers: Numbers) -> None:
        self._beats = 0
        self._lag = 0.0
        self._patience = patience
        self._stopped = threading.Event()
        numbers.read_value("tokenmill_event_loop_lag_seconds", lambda: self._lag)

    async def beat(self, look: Callable[[], None]) -> None:
        """Beat once a second and call `look` each time."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + LOOK_S
            await asyncio.sleep(LOOK_S)
            self._lag = max(0.0, loop.time() - due)
            self._beats += 1
            look()

    def watch(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._feel, name="pulse", daemon=True).start()

    def stop(self) -> None:
        """Stop the thread: the loop ends on purpose."""
        self._stopped.set()

    def _feel(self) -> None:
        seen, missed = self._beats, 0
        while not self._stopped.wait(LOOK_S):
            missed = missed + 1 if self._beats == seen else 0
            seen = self._beats
            if missed * LOOK_S > self._patience:
                words = f"the event loop has not turned for {self._patience:g} s; ending the process\n"
                say_and_exit(words, traces=True)
