"""One partition of `tool-calls`: takes its calls, has them run, and writes what came of each.

    seen ─ waiting ─ running ─ done      `tool-state` says where each call is, in one transaction with
                                         the offset behind it, and in the end with its result

1. A call is sent to its server when its claim is committed, not before. It has one final record, with its result.
2. Offsets go on once a call is in `tool-state`: one that takes minutes holds nobody up.
3. Of what the owner before left, calls that only waited are run. What was claimed is run again if its tool may be, and
   is in doubt otherwise.
4. Whatever goes wrong with a transaction ends the process: nothing of it was seen, and the next owner knows as much.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from fnmatch import fnmatchcase

import msgspec
from aiokafka import TopicPartition
from aiokafka.structs import OffsetAndMetadata

from tokenmill.config import Config
from tokenmill.events import ToolResult
from tokenmill.records import Record
from tokenmill.tools.book import Book
from tokenmill.tools.call import Call, Stage, call_of
from tokenmill.tools.catalogue import server_of
from tokenmill.tools.outcome import Outcome
from tokenmill.tools.places import Places
from tokenmill.worker.transaction import Transaction

log = logging.getLogger(__name__)

LOST = Outcome(error="whoever ran the tool was lost: nobody knows what it did", code="in-doubt")

AGAIN_MS = 3_600_000
"""For how long beyond `tools.expire_s` a call that is done is known. What comes again later has expired."""

Run = Callable[[Call], Awaitable[Outcome]]
"""Makes a call, once."""

Ended = Callable[[Outcome], None]
"""Hears what came of a call, when all can read it."""


class _Step(msgspec.Struct, frozen=True):
    """Where a call is from now on."""

    call: Call
    stage: Stage
    outcome: Outcome | None = None
    """With the last stage."""


class Desk:
    """The calls of one partition."""

    def __init__(
        self, place: TopicPartition, config: Config, transaction: Transaction, places: Places, run: Run, ended: Ended
    ) -> None:
        self.place = place
        self.transaction = transaction
        self._settings = config.tools
        self._topics = config.topics
        self._places = places
        self._run = run
        self._ended = ended
        self._book = Book(int(self._settings.expire_s * 1000) + AGAIN_MS)
        self._inbox: deque[Record] = deque()
        self._waiting: dict[bytes, Call] = {}
        self._running: dict[bytes, asyncio.Task[None]] = {}
        self._over: deque[_Step] = deque()
        self._taken = self._committed = self._writing = 0
        self._paused = False
        self._news = asyncio.Event()
        self._unwatch = places.watch(self._news.set)

    @property
    def unfinished(self) -> int:
        """Calls that were given, and whose results are not written."""
        return len(self._inbox) + len(self._waiting) + self.running

    @property
    def running(self) -> int:
        """Calls that are at their servers, or whose results are not written yet."""
        return len(self._running) + len(self._over) + self._writing

    @property
    def waiting(self) -> int:
        """Calls that wait for a place."""
        return len(self._waiting)

    @property
    def taken(self) -> int:
        """The offset behind the last call that is in `tool-state`, or is none."""
        return self._committed

    # What comes

    def read(self, key: bytes, value: bytes | None, offset: int) -> None:
        """A record of `tool-state`, in order, before anything else."""
        self._book.read(key, value, offset)

    def begin_at(self, offset: int) -> None:
        """Behind what the owner before took; what it left unfinished is taken up."""
        self._taken = self._committed = offset
        for call in self._book.at("waiting"):
            self._waiting[call.key] = call
        for call in self._book.at("running"):
            if any(fnmatchcase(call.name, pattern) for pattern in self._settings.repeat):
                self._waiting[call.key] = call
            else:
                log.warning("a call of %s is in doubt: whoever ran it was lost", call.name)
                self._over.append(_Step(call, "done", LOST))
        self._news.set()

    def give(self, records: Sequence[Record]) -> None:
        """Records of the topic, in order."""
        self._inbox += records
        self._news.set()

    def pause(self) -> None:
        """Begin no call for now."""
        self._paused = True

    def go_on(self) -> None:
        """Begin those that wait."""
        self._paused = False
        self._news.set()

    def again(self) -> int:
        """The offset from which on records are to be given again: what was not taken is forgotten."""
        self._inbox.clear()
        return self._committed

    # What is done about it

    async def work(self) -> None:
        """Until cancelled. Raises `FatalError` for a transaction that failed."""
        while True:
            await self._news.wait()
            self._news.clear()
            steps = self._steps(_now())
            self._writing = len(steps)
            if steps or self._taken != self._committed:
                try:
                    await self._write(steps)
                except BaseException:
                    self._give_back(steps)
                    raise
            self._writing = 0

    def _steps(self, now: int) -> list[_Step]:
        """What is over, what came, and what begins: of each call the last of it."""
        steps = {step.call.key: step for step in self._arrivals(now)}
        while self._over:
            step = self._over.popleft()
            steps[step.call.key] = step
        for call in [] if self._paused else list(self._waiting.values()):
            if self._places.take(server_of(call.name)):
                steps[call.key] = _Step(call, "running")
                del self._waiting[call.key]
        return list(steps.values())

    def _arrivals(self, now: int) -> Iterator[_Step]:
        while self._inbox:
            record = self._inbox.popleft()
            self._taken = record.offset + 1
            call = call_of(record)
            if call is None or call.key in self._book or call.key in self._waiting:
                continue
            late_s = (now - call.time) / 1000 - self._settings.expire_s
            if late_s > 0:
                why = f"the call came {late_s:.0f} s later than {self._settings.expire_s:g} s (tools.expire_s)"
                yield _Step(call, "done", Outcome(error=why, code="expired"))
            else:
                self._waiting[call.key] = call
                yield _Step(call, "waiting")

    def _give_back(self, steps: Sequence[_Step]) -> None:
        """The places of calls that do not begin after all."""
        for step in steps:
            if step.stage == "running":
                self._places.give_back(server_of(step.call.name))

    async def _write(self, steps: Sequence[_Step]) -> None:
        """One transaction; what is claimed in it begins behind it."""
        taken, now, client = self._taken, _now(), self.transaction.client
        needed = self._book.first_needed(now)
        sent = []
        for step in steps:
            value = self._book.write(step.call, step.stage, now)
            place = {"partition": self.place.partition, "key": step.call.key}
            sent.append(await client.send(self._topics.tool_state, value, **place))
            if step.outcome is not None:
                sent.append(await self._answer(step.call, step.outcome))

        async def acknowledged() -> None:
            await asyncio.gather(*sent)

        await self.transaction.commit(self.place, OffsetAndMetadata(taken, str(needed)), acknowledged)
        self._committed = taken
        states = (future.result() for future in sent if future.result().topic == self._topics.tool_state)
        for step, written in zip(steps, states, strict=True):
            self._book.placed(step.call.key, written.offset)
            if step.stage == "running":
                self._begin(step.call)
            if step.outcome is not None:
                self._ended(step.outcome)

    async def _answer(self, call: Call, outcome: Outcome) -> "asyncio.Future[object]":
        answer = ToolResult(
            id=call.id,
            name=call.name,
            result=outcome.result,
            error=outcome.error,
            elapsed_ms=outcome.elapsed_ms,
            code=outcome.code,
            conversation_id=call.conversation,
            message_id=call.message,
            choice=call.choice,
        )
        headers = [(name, value.encode("latin-1")) for name, value in call.tracing]
        future: asyncio.Future[object] = await self.transaction.client.send(
            self._topics.tool_results, msgspec.json.encode(answer), key=call.conversation.encode(), headers=headers
        )
        return future

    # At the servers

    def _begin(self, call: Call) -> None:
        self._running[call.key] = asyncio.create_task(self._made(call), name=f"a call of {call.name}")

    async def _made(self, call: Call) -> None:
        try:
            outcome = await self._run(call)
        except Exception as problem:
            log.exception("a call of %s", call.name)
            outcome = Outcome(error=repr(problem), code="transport")
        finally:
            del self._running[call.key]
            self._places.give_back(server_of(call.name))
        self._over.append(_Step(call, "done", outcome))
        self._news.set()

    async def close(self) -> None:
        """Let go of the partition; calls that run are cancelled, and the next owner says what becomes of them."""
        self._unwatch()
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.transaction.close(CLOSE_S)


CLOSE_S = 5.0
"""For letting go of a producer."""


def _now() -> int:
    return int(time.time() * 1000)
