"""The answers that are under way in a process: each is a task, watched from outside, with signs of life in the log.

What is over here says nothing of the answer: another caller may have taken it over. So nothing is remembered of it.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from http import HTTPStatus
from typing import Any, Protocol

from tokenmill.caller.answer import Answer, Resources
from tokenmill.caller.finishes import Finishes
from tokenmill.caller.inheritance import Inherited
from tokenmill.caller.server_parsers import WARNINGS
from tokenmill.caller.writing import ChunkWriter
from tokenmill.errors import Unavailable
from tokenmill.observe import Numbers
from tokenmill.observe.caller_table import Outcome
from tokenmill.observe.numbers import Reading
from tokenmill.tasks import cancelled

log = logging.getLogger(__name__)

SIGNS = 3
"""Signs of life in one lease: one may be late."""

CLOSE_S = 3.0
"""Seconds for answers that are cut off to leave their servers."""

AGAIN_S = 0.5
"""Seconds before Kafka is asked again after it did not answer."""

FAILED = "the caller failed; its log says why"


class Over(Protocol):
    """Called when an answer is over here."""

    def __call__(self, *, known: bool) -> None:
        """`known`: it is over in the log, too. Else a caller has to look, and give it an end if it has none."""


class _Run:
    """An answer under way, and its task."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.task: asyncio.Task[Outcome] | None = None
        self.cancelling: asyncio.Task[None] | None = None
        """Has the worker end it."""


class Running:
    """The answers under way in this process, by the ids of their messages."""

    def __init__(self, resources: Resources, finishes: Finishes, lease_s: float, numbers: Numbers) -> None:
        self._resources = resources
        self._finishes = finishes
        self._lease_s = lease_s
        self._numbers = numbers
        self._runs: dict[str, _Run] = {}
        numbers.read("tokenmill_caller_running", lambda: [((), self.count)])
        numbers.read("tokenmill_caller_waiting", lambda: [((), sum(pool.waiting for pool in self._pools()))])
        numbers.read("tokenmill_caller_urls_left_alone", lambda: [((), sum(pool.closed for pool in self._pools()))])
        numbers.read("tokenmill_caller_parsed_total", self._parsed)

    def _parsed(self) -> Reading:
        found = Counter[str]()
        for parsers in {id(served.parsers): served.parsers for served in self._resources.models.values()}.values():
            found.update(parsers.answers)
        return [((sign,), found[sign]) for sign in WARNINGS]

    def _pools(self) -> Iterable[Any]:
        return {id(served.pool): served.pool for served in self._resources.models.values()}.values()

    @property
    def count(self) -> int:
        """Number of answers under way."""
        return len(self._runs)

    def knows(self, message_id: str) -> bool:
        """Whether an answer is under way here."""
        return message_id in self._runs

    def begin(self, inherited: Inherited, answer: Answer, work: Coroutine[Any, Any, Outcome], over: Over) -> None:
        """Run an answer to its end, and report that. An earlier run of it here, which it has taken over, is ended."""
        message_id = inherited.request.message_id
        before = self._runs.get(message_id)
        if before is not None and before.task is not None:
            before.answer.stop(before.task)
        run = self._runs[message_id] = _Run(answer)
        run.task = asyncio.create_task(self._watched(inherited, answer, work, run), name=f"the answer {message_id}")
        run.task.add_done_callback(lambda _: work.close())  # one that is cut off at once has not come to it
        run.task.add_done_callback(lambda task: self._done(message_id, run, task, over))

    def cancel(self, conversation: str, message_id: str) -> None:
        """End an answer that runs here and was stopped, maybe before it was open."""
        run = self._runs.get(message_id)
        if run is not None and run.cancelling is None and run.answer.conversation == conversation:
            run.cancelling = asyncio.create_task(run.answer.cancel(), name=f"the stop of {message_id}")

    async def _watched(
        self, inherited: Inherited, answer: Answer, work: Coroutine[Any, Any, Outcome], run: _Run
    ) -> Outcome:
        """Do the answer's work, which ends early if the answer is over in the log, as after a stop."""

        def ended() -> None:
            if run.task is not None and not run.task.done():
                answer.stop(run.task)

        unwatch = await self._unwatched(inherited, ended)
        try:
            return await work
        except Exception:
            log.exception("an answer failed: %s", inherited.request.message_id)
            return await answer.give_up(FAILED, HTTPStatus.INTERNAL_SERVER_ERROR)
        finally:
            unwatch()

    async def _unwatched(self, inherited: Inherited, ended: Callable[[], None]) -> Callable[[], None]:
        """Watch for its end as soon as Kafka answers. Returns what ends the watch."""
        while True:
            try:
                return await self._finishes.watch(inherited.conversation, inherited.request.message_id, ended)
            except Unavailable as problem:
                log.warning("an answer waits: %s", problem)
                await asyncio.sleep(AGAIN_S)

    def _done(self, message_id: str, run: _Run, task: "asyncio.Task[Outcome]", over: Over) -> None:
        """Forget an answer and report that, whatever it raised: no one may wait for what is forgotten."""
        if self._runs.get(message_id) is run:
            del self._runs[message_id]
        if run.cancelling is not None:
            run.cancelling.cancel()
        if task.cancelled() and not run.answer.unwanted:
            return  # by us, at the end: whoever has its partition next goes on
        problem = None if task.cancelled() else task.exception()
        if problem is not None:
            log.error("an answer could not be ended, and is looked after again: %s", message_id, exc_info=problem)
        else:
            self._count(run.answer, "stopped" if task.cancelled() else task.result())
        over(known=problem is None and not run.answer.left)

    def _count(self, answer: Answer, outcome: Outcome) -> None:
        self._numbers.add("tokenmill_caller_answers_total", outcome)
        if answer.failure:
            self._numbers.add("tokenmill_caller_failures_total", answer.failure)
        if answer.first_s is not None:
            self._numbers.histograms["tokenmill_caller_first_token_seconds"].observe(answer.first_s)

    async def beat(self) -> None:
        """Write signs of life until cancelled, for answers of which nothing was written for a while."""
        clock, pause_s = asyncio.get_running_loop().time, self._lease_s / SIGNS / 2
        while True:
            await asyncio.sleep(pause_s)
            writers = [run.answer.writer for run in self._runs.values()]
            due = [writer for writer in writers if clock() - writer.written_at > pause_s]
            await asyncio.gather(*(_beat(writer, pause_s) for writer in due))

    async def finished(self, seconds: float) -> None:
        """Wait this long for the answers that are under way."""
        tasks = [run.task for run in self._runs.values() if run.task is not None]
        if tasks:
            log.info("%d answers are waited for", len(tasks))
            await asyncio.wait(tasks, timeout=seconds)

    async def close(self) -> None:
        """Cut off those that remain: the next owners of their partitions take them over."""
        tasks = [run.task for run in self._runs.values() if run.task is not None]
        if tasks:
            log.warning("%d answers are cut off", len(tasks))
        await cancelled(*tasks, seconds=CLOSE_S)


async def _beat(writer: ChunkWriter, within_s: float) -> None:
    """Write a sign of life. One that Kafka does not take, as for a partition without a leader, delays no other."""
    try:
        async with asyncio.timeout(within_s):
            await writer.beat()
    except TimeoutError:
        log.info("a sign of life was not written in time")
