"""Nothing dies silently (design 4.11): what the client would pass over is looked at once a second.

Each check gives a sentence about what is wrong, if anything is. A sentence ends the process with exit code 1, and the
supervisor starts a new one, which recovers. The event loop itself is watched from a thread: if it does not turn,
nothing else here does.
"""

import asyncio
import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

from aiokafka import TopicPartition

from tokenmill.errors import FatalError
from tokenmill.observe import Numbers
from tokenmill.worker.engine import Engine
from tokenmill.worker.lane import Phase

LOOK_S = 1.0


class Watch:
    """Watches one engine. `patience` is how many seconds without progress are too many."""

    def __init__(self, engine: Engine, patience: float, wall: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._patience = patience
        self._wall = wall
        self._progress: dict[object, tuple[object, float]] = {}

    def look(self) -> None:
        """Raise `FatalError` for the first thing that is wrong."""
        for problem in self.problems():
            raise FatalError(problem)

    def problems(self) -> Iterator[str]:
        """Everything that is wrong now."""
        yield from self._dead_tasks()
        yield from self._silence()
        for tp, lane in self._engine.lanes.items():
            yield from self._stuck(tp, lane.phase, lane.partition.offset, waits=lane.in_flight)

    def _dead_tasks(self) -> Iterator[str]:
        """The client's background tasks: `getmany` and `send` go on without them, doing nothing."""
        consumer = self._engine.consumer
        tasks = [
            ("fetching", consumer._fetcher._fetch_task),  # noqa: SLF001 -- nothing public tells
            ("coordination", consumer._coordinator._coordination_task),  # noqa: SLF001 -- likewise
        ]
        producers = self._engine.delivery.producers()
        tasks += [("sending", producer._sender.sender_task) for producer in producers]  # noqa: SLF001 -- likewise
        for name, task in tasks:
            if task.done():
                yield f"the Kafka client's {name} task has ended: {_reason(task)}"

    def _silence(self) -> Iterator[str]:
        """A broker that does not answer: fetches are, many times a second, if only by saying that there is nothing."""
        engine = self._engine
        assigned = engine.consumer.assignment()
        read = [tp for tp, lane in engine.lanes.items() if lane.phase is Phase.LIVE and not lane.paused]
        last = max((engine.consumer.last_poll_timestamp(tp) or 0 for tp in read if tp in assigned), default=None)
        if last is not None and self._too_long("silence", last):
            yield f"no answer to a fetch for {self._patience:g} s"
        coordinator = engine.consumer._coordinator.coordinator_id  # noqa: SLF001 -- nothing public tells
        if coordinator is None and self._too_long("coordinator", None):
            yield f"no coordinator of the group for {self._patience:g} s"
        if coordinator is not None:
            self._progress.pop("coordinator", None)

    def _stuck(self, tp: TopicPartition, phase: Phase, offset: int, *, waits: bool) -> Iterator[str]:
        """Lag, a restore, or unacknowledged output, and nothing moves."""
        end = self._engine.end(tp)
        behind = end is not None and max(offset, self._engine.position(tp)) < end
        if phase is Phase.LIVE and not behind and not waits:
            self._progress.pop(tp, None)
        elif self._too_long(tp, (phase, offset, waits and self._engine.lanes[tp].acknowledged)):
            what = "unacknowledged output" if waits else "lag" if phase is Phase.LIVE else f"state {phase.value}"
            yield f"{tp.topic}/{tp.partition}: {what} without progress for {self._patience:g} s at offset {offset}"

    def _too_long(self, key: object, value: object) -> bool:
        """Whether this value has been the same for longer than the patience."""
        now = self._engine.clock()
        before, since = self._progress.get(key, (object(), now))
        if before != value:
            self._progress[key] = (value, now)
            return False
        return now - since > self._patience


class Pulse:
    """The event loop's: beaten by the loop, felt by a thread.

    The thread counts its own looks, so that a process that was suspended is not taken for dead.
    """

    def __init__(self, patience: float, numbers: Numbers) -> None:
        self._beats = 0
        self._lag = 0.0
        self._patience = patience
        self._stopped = threading.Event()
        numbers.read("tokenmill_event_loop_lag_seconds", lambda: [((), self._lag)])

    async def beat(self, look: Callable[[], None]) -> None:
        """Beat once a second and have a look each time."""
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
        """The loop ends on purpose."""
        self._stopped.set()

    def _feel(self) -> None:
        seen, missed = self._beats, 0
        while not self._stopped.wait(LOOK_S):
            missed = missed + 1 if self._beats == seen else 0
            seen = self._beats
            if missed * LOOK_S > self._patience:
                sys.stderr.write(f"the event loop has not turned for {self._patience:g} s; ending the process\n")
                faulthandler.dump_traceback(all_threads=True)
                os._exit(1)


def _reason(task: "asyncio.Task[object]") -> str:
    if task.cancelled():
        return "cancelled"
    return repr(task.exception() or "it returned")
