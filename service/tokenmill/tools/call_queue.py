"""One partition of `tool-calls`: takes its calls, has them run, and writes what came of each.

    seen ─ waiting ─┬─ running ─ done    `tool-state` says where each call is, in one transaction with
                    └─ asking ──┘        the offset after it, and in the end with its result

1. A call is sent to its server after its claim is committed, not before. It has one final record, with its result.
2. Offsets advance once a call is in `tool-state`: a call of minutes holds up no others.
3. Of the calls that the owner before left, those that only waited are run. A claimed call is run again if its tool may
   be repeated, and is in doubt otherwise, or if it can't be run again.
4. A call that needs an approval is checked first: nobody is asked about a call that can't be run. It is run as it was
   approved, or not at all.
5. A failed transaction ends the process: nobody has seen anything of it, and the next owner starts from the same state.
"""

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain

from aiokafka import TopicPartition

from tokenmill.config import Config
from tokenmill.errors import RecordError
from tokenmill.kafka.transaction import Transaction
from tokenmill.records import Record
from tokenmill.tools.call import Call, read_calls
from tokenmill.tools.call_states import CallStates
from tokenmill.tools.catalogue import server_of
from tokenmill.tools.concurrency_limits import ConcurrencyLimits
from tokenmill.tools.content import quoted
from tokenmill.tools.control import Orders
from tokenmill.tools.outcome import LOST, NOT_MADE, Outcome, Progress
from tokenmill.tools.pending_approvals import AskedCall
from tokenmill.tools.running_calls import RunningCalls, Servers
from tokenmill.tools.state_log import StateLog
from tokenmill.tools.waiting_calls import Step, WaitingCalls
from tokenmill.wildcards import matches

log = logging.getLogger(__name__)

AGAIN_MS = 3_600_000
"""Milliseconds beyond `tools.expire_s` for which a call that is done is known. If it comes later, it has expired."""

Ended = Callable[[Outcome], None]
"""Function that gets the outcome of a call, once it is committed."""


class CallQueue:
    """Runs the calls of one partition."""

    def __init__(
        self,
        place: TopicPartition,
        config: Config,
        transaction: Transaction,
        limits: ConcurrencyLimits,
        servers: Servers,
        orders: Orders,
        ended: Ended,
    ) -> None:
        self.place = place
        self.transaction = transaction
        self._settings = config.tools
        self._most = config.limits.payload_bytes
        self._limits = limits
        self._orders = orders
        self._ended = ended
        self._states = CallStates(int(self._settings.expire_s * 1000) + AGAIN_MS)
        self._log = StateLog(place, transaction, config.topics, self._states)
        self._inbox: deque[Record] = deque()
        self._waiting = WaitingCalls(config.tools, orders, self._states)
        self._lost: deque[Call] = deque()
        self._again: set[bytes] = set()
        """Keys of calls that are made again: the owner before may have made them."""
        self._taken = 0
        """Offset after the last record that was looked at."""
        self.committed = 0
        """Offset after the last record that is in `tool-state`, or is not a call."""
        self._writing = 0
        """Steps that are being written."""
        self._end, self._held_back = 0, False
        self._paused = False
        self._heard = True
        """Whether there are orders that were not looked at."""
        self._news = asyncio.Event()
        self._running = RunningCalls(servers, limits, self._news.set)
        self._unwatch = limits.watch(self._news.set)

    @property
    def _caught_up(self) -> bool:
        """Whether everything that was there at the take-over is read, except the invisible marks of transactions."""
        return self._taken >= self._end or not self._held_back

    @property
    def unfinished(self) -> int:
        """Calls that were given, and whose results are not written, except those that a person is asked about."""
        return len(self._inbox) + self.waiting + self.running

    @property
    def running(self) -> int:
        """Calls that are at their servers, or whose results are not written yet."""
        return self._running.running + len(self._running.over) + len(self._lost) + self._writing

    @property
    def leaving(self) -> int:
        """Calls that are in doubt, which is still to be written."""
        return len(self._lost) + self._writing

    @property
    def waiting(self) -> int:
        """How many calls wait for a place."""
        return len(self._waiting) + self._running.looking

    @property
    def asking(self) -> int:
        """How many calls wait for a person."""
        return len(self._waiting.approvals)

    # What comes

    def read_from(self, offset: int) -> None:
        """Note where reading `tool-state` begins: there may be nothing to read."""
        self._states.end = offset

    def read(self, key: bytes, value: bytes | None, offset: int) -> None:
        """Take a record of `tool-state`, in order, before anything else."""
        self._states.read(key, value, offset)

    def begin_at(self, offset: int, end: int = 0) -> None:
        """Begin after what the owner before took, and take up what it left unfinished.

        `end` is that of the topic: records before it may cancel messages whose calls wait.
        """
        self._taken = self.committed = offset
        self._end, self._held_back = end, True
        asyncio.get_running_loop().call_later(HOLD_S, self._hold_over)
        for call, _ in self._states.at("waiting"):
            self._waiting.put(call)
        for call, written in self._states.at("asking"):
            self._waiting.approvals.put(AskedCall(call, written.fingerprint, written.until))
        for call, written in self._states.at("running"):
            granted = AskedCall(call, written.fingerprint, written.until) if written.until else None
            if self._may_repeat(call) and (granted is not None or not self._waiting.asks(call)):
                self._again.add(call.key)
                self._waiting.put(call, granted, claimed=True)
            else:
                self._lose(call)
        self._news.set()

    def _hold_over(self) -> None:
        """End the hold by the timer, not a clock: timers may be early, and nothing else may wake the queue."""
        self._held_back = False
        self._news.set()

    def _may_repeat(self, call: Call) -> bool:
        return any(matches(pattern, call.name) for pattern in self._settings.repeat)

    def _lose(self, call: Call) -> None:
        names = (quoted(each) for each in (call.name, call.id, call.conversation))
        log.warning("a call of %s is in doubt: %s of the conversation %s", *names)
        self._lost.append(call)

    def leave(self) -> None:
        """Answer calls that still run as the next owner would; their servers are told."""
        for call in self._running.calls:
            if not self._may_repeat(call):
                self._running.let_go(call.key)
                self._lose(call)
        self._news.set()

    def give(self, records: Sequence[Record]) -> None:
        """Take records of the topic, in order."""
        self._inbox += records
        self._news.set()

    def hear(self) -> None:
        """Look at new orders about calls."""
        self._heard = True
        self._news.set()

    def pause(self) -> None:
        """Begin no call for now."""
        self._paused = True

    def go_on(self) -> None:
        """Begin the calls that wait."""
        self._paused = False
        self._news.set()

    def again(self) -> int:
        """Forget what was not taken; return the offset from which records are to be given again."""
        self._inbox.clear()
        return self.committed

    # What is done about it

    async def work(self) -> None:
        """Work until cancelled. Raises `FatalError` for a transaction that failed."""
        written_at = 0.0
        while True:
            await self._anything_new()
            await asyncio.sleep(max(0, written_at + PACE_S - time.monotonic()))
            steps = self._steps(_now())
            self._writing, progress = len(steps), list(self._running.progress.values())
            self._running.progress.clear()
            if steps or progress or self._taken != self.committed:
                try:
                    await self._write(steps, progress)
                except BaseException:
                    self._give_back(steps)
                    raise
                written_at = time.monotonic()
            self._writing = 0

    async def _anything_new(self) -> None:
        """Wait for news, or until something is too old."""
        left_s = max(0.0, self._waiting.until - _now()) / 1000 + LATER_S
        with suppress(TimeoutError):
            async with asyncio.timeout(None if math.isinf(left_s) else left_s):
                await self._news.wait()
        self._news.clear()

    def _steps(self, now: int) -> list[Step]:
        """Return the last step of each call: what arrived, is over, was ordered, or begins."""
        kinds = self._arrivals(now), self._over(), self._looked_at(now), self._settled(now), self._begun(now)
        return list({step.call.key: step for step in chain(*kinds)}.values())

    def _arrivals(self, now: int) -> Iterator[Step]:
        while self._inbox:
            record = self._inbox.popleft()
            self._taken = record.offset + 1
            said = self._said(record)
            if isinstance(said, bytes):
                yield from self._stopped(said)
            elif said is not None and said.key not in self._states:
                yield self._waiting.arrived(said, now)

    def _said(self, record: Record) -> Call | bytes | None:
        try:
            return read_calls(record, self._most)
        except RecordError as problem:
            log.warning("%s/%d: the call at offset %d is not run: %s", *self.place, record.offset, problem)
            return None

    def _stopped(self, answer: bytes) -> Iterator[Step]:
        """Cancel the calls of a message that was cancelled. Their end is written with the offset of that record."""
        for call in self._states.unfinished(answer) if self._settings.cancel_with_message else ():
            self._running.let_go(call.key)
            yield Step(call, "done", self._waiting.cancel(call.key))

    def _over(self) -> Iterator[Step]:
        while self._lost:
            yield Step(self._lost.popleft(), "done", LOST)
        while self._running.over:
            call, outcome = self._running.over.popleft()
            may_be_made = call.key in self._again and outcome.code in NOT_MADE  # not now, but by the owner before
            yield Step(call, "done", LOST if may_be_made else outcome)

    def _settled(self, now: int) -> Iterator[Step]:
        """Apply orders, and give up calls that are too old. Most of the time there is neither."""
        heard, self._heard = self._heard, False
        if heard:
            self._running.cancel(self._orders)
        if heard or now > self._waiting.until:
            yield from self._waiting.said(now)
            yield from self._waiting.given_up(now)

    def _begun(self, now: int) -> Iterator[Step]:
        if not self._paused and self._caught_up:
            for call in self._waiting.unasked():
                self._running.look(call)
            yield from self._waiting.beginning(now, self._limits)

    def _looked_at(self, now: int) -> Iterator[Step]:
        while self._running.looked_at:
            call, fingerprint = self._running.looked_at.popleft()
            self._heard = True  # the answer may be there already: the call was asked about before
            yield self._waiting.ask(call, fingerprint, now)

    def _give_back(self, steps: Sequence[Step]) -> None:
        """Give back the places of calls that do not begin after all."""
        for step in steps:
            if step.stage == "running":
                self._limits.release(server_of(step.call.name))

    async def _write(self, steps: Sequence[Step], progress: Sequence[tuple[Call, Progress]]) -> None:
        """Write one transaction; the calls that it claims begin after it."""
        taken = self._taken
        await self._log.write(steps, progress, taken, _now())
        self.committed = taken
        for step in steps:
            if step.stage == "running":
                self._running.begin(step.call, step.asked.fingerprint if step.asked else "")
            if step.outcome is not None:
                self._again.discard(step.call.key)
                self._ended(step.outcome)

    async def close(self) -> None:
        """Let go of the partition; calls that run are cancelled, and the next owner decides what becomes of them."""
        self._unwatch()
        await self._running.close()
        await self.transaction.close(CLOSE_S)


CLOSE_S = 5.0
"""Seconds for closing a producer."""

HOLD_S = 1.0
"""Seconds for which nothing begins, at most, until everything that was there at the take-over is read."""

PACE_S = 0.005
"""Seconds from one transaction to the next: each costs five requests, so what comes meanwhile shares one."""

LATER_S = 0.001
"""Seconds after the last moment at which a call is still wanted."""


def _now() -> int:
    return int(time.time() * 1000)
