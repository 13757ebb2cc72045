"""The answers that run in a process: each is a task, ends early if its message ends in the log, and gives signs of
life.

Nothing is kept about an answer that is over here: another caller may have taken it over, so only the log has its state.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any, Protocol

from tokenmill.caller.answer import Answer, Resources
from tokenmill.caller.finishes import Finishes
from tokenmill.caller.server_parsers import WARNINGS
from tokenmill.caller.writing import ChunkWriter
from tokenmill.errors import Unavailable
from tokenmill.observe import Numbers
from tokenmill.observe.caller_table import Outcome
from tokenmill.tasks import cancelled

log = logging.getLogger(__name__)

SIGNS = 3
"""Signs of life in one lease: one may be late."""

CLOSE_S = 3.0
"""Seconds for answers that are cut off to close their connections to servers."""

AGAIN_S = 0.5
"""Seconds before Kafka is asked again after it did not answer."""

FAILED = "the caller failed; its log has the reason"


class Over(Protocol):
    """Called when an answer is over here."""

    def __call__(self, *, known: bool) -> None:
        """`known` is whether its end is in the log.

        Otherwise a caller has to look for it, and to write one if needed.
        """


class _Run:
    """An answer that runs, and its task."""

    def __init__(self, answer: Answer, task: "asyncio.Task[Outcome]") -> None:
        self.answer = answer
        self.task = task
        self.cancelling: asyncio.Task[None] | None = None
        """The task that has the worker end it, if it was stopped."""


class Running:
    """The answers that run in this process, by the ids of their messages."""

    def __init__(self, resources: Resources, finishes: Finishes, lease_s: float, numbers: Numbers) -> None:
        self._finishes = finishes
        self._lease_s = lease_s
        self._numbers = numbers
        self._runs: dict[str, _Run] = {}
        numbers.read_value("tokenmill_caller_running", lambda: self.count)
        pools = {served.pool for served in resources.models.values()}
        parsers = {served.parsers for served in resources.models.values()}
        numbers.read_value("tokenmill_caller_waiting", lambda: sum(pool.waiting for pool in pools))
        numbers.read_value("tokenmill_caller_urls_left_alone", lambda: sum(pool.closed for pool in pools))
        numbers.read(
            "tokenmill_caller_parsed_total",
            lambda: [((sign,), sum(each.answers[sign] for each in parsers)) for sign in WARNINGS],
        )

    @property
    def count(self) -> int:
        """Number of answers that run here."""
        return len(self._runs)

    def knows(self, message_id: str) -> bool:
        """Whether an answer runs here."""
        return message_id in self._runs

    def begin(self, answer: Answer, work: Coroutine[Any, Any, Outcome], over: Over) -> None:
        """Run `work` of an answer to its end, and then call `over`.

        An earlier run of the same answer here is cancelled: the new one has taken it over.
        """
        before = self._runs.get(answer.message_id)
        if before is not None:
            before.answer.stop(before.task)
        task = asyncio.create_task(self._run_watched(answer, work), name=f"the answer {answer.message_id}")
        run = self._runs[answer.message_id] = _Run(answer, task)
        task.add_done_callback(lambda _: work.close())  # a task that is cancelled at once has not awaited it
        task.add_done_callback(lambda _: self._done(run, over))

    def cancel(self, conversation: str, message_id: str) -> None:
        """Have the worker end an answer that runs here and was stopped, perhaps before its message was open."""
        run = self._runs.get(message_id)
        if run is not None and run.cancelling is None and run.answer.conversation == conversation:
            run.cancelling = asyncio.create_task(run.answer.cancel(), name=f"the stop of {message_id}")

    async def _run_watched(self, answer: Answer, work: Coroutine[Any, Any, Outcome]) -> Outcome:
        """Do the answer's work, and cancel it if the message ends in the log meanwhile, as after a stop."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 -- a coroutine is run by one
        unwatch = await self._watch_end(answer, lambda: answer.stop(task))
        try:
            return await work
        except Exception:
            log.exception("an answer failed with an unexpected error: %s", answer.message_id)
            return await answer.give_up(FAILED, HTTPStatus.INTERNAL_SERVER_ERROR)
        finally:
            unwatch()

    async def _watch_end(self, answer: Answer, ended: Callable[[], None]) -> Callable[[], None]:
        """Watch the log for the message's end, once Kafka answers. Return a function that ends the watch.

        An answer whose time is over meanwhile only has its end to write: it is not watched.
        """
        while True:
            try:
                return await self._finishes.watch(answer.conversation, answer.message_id, ended)
            except Unavailable as problem:
                if answer.left_s <= 0:
                    return lambda: None
                log.warning("an answer waits until Kafka answers: %s", problem)
                await asyncio.sleep(AGAIN_S)

    def _done(self, run: _Run, over: Over) -> None:
        """Drop an answer that is over here, and call `over`, whatever it raised.

        Otherwise the offset of its request would stay unfinished for ever.
        """
        message_id, task = run.answer.message_id, run.task
        if self._runs.get(message_id) is run:
            del self._runs[message_id]
        if run.cancelling is not None:
            run.cancelling.cancel()
        if task.cancelled() and not run.answer.unwanted:
            return  # by `close`: the next owner of its partition recovers it
        problem = None if task.cancelled() else task.exception()
        if problem is not None:
            log.error("an answer could not be ended, and will be recovered: %s", message_id, exc_info=problem)
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
        """Write signs of life until cancelled, for answers without a record for some time."""
        clock, pause_s = asyncio.get_running_loop().time, self._lease_s / SIGNS / 2
        while True:
            await asyncio.sleep(pause_s)
            writers = [run.answer.writer for run in self._runs.values()]
            due = [writer for writer in writers if clock() - writer.written_at > pause_s]
            await asyncio.gather(*(_beat(writer, pause_s) for writer in due))

    async def finished(self, seconds: float) -> None:
        """Wait for the running answers, at most this long."""
        tasks = [run.task for run in self._runs.values()]
        if tasks:
            log.info("waiting for %d answers", len(tasks))
            await asyncio.wait(tasks, timeout=seconds)

    async def close(self) -> None:
        """Cut off the remaining answers: the next owners of their partitions take them over."""
        tasks = [run.task for run in self._runs.values()]
        if tasks:
            log.warning("cutting off %d answers, which other callers take over", len(tasks))
        await cancelled(*tasks, seconds=CLOSE_S)


async def _beat(writer: ChunkWriter, within_s: float) -> None:
    """Write a sign of life, at most for `within_s`: one that Kafka does not take must not delay others. That happens
    for a partition without a leader.
    """
    try:
        async with asyncio.timeout(within_s):
            await writer.beat()
    except TimeoutError:
        log.info("a sign of life was not written in time")
