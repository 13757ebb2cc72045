"""Background tasks: kept while they run, and ended in one way.

1. Parts of a process, which end it when they end, are `process.run_until`'s. Work that is needed as long as a block
   lasts is `beside` it. Work of which there may be any number is in `Tasks`. All of them, and a task that its owner
   keeps by itself, are ended by `cancelled`.
2. Nothing here takes an exception: the code that waits for a task gets it, and asyncio logs it, with the task's name,
   if no code has once the task is forgotten. Where other code reports it, `looked_at` says so; where no code waits for
   a task that is kept for long, `log_failure` logs it at once.
3. Ending has a deadline. If the waiter is cancelled meanwhile, that is raised immediately; after the work if it would
   leave something behind where it is cut off (`to_the_end`).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")

END_S = 30.0
"""Seconds for a cancelled task to end: more than any deadline of what it may have to close."""


async def cancelled(*tasks: "asyncio.Future[Any]", seconds: float = END_S) -> None:
    """Cancel tasks, and wait until they have ended. One that has not after these seconds is logged and left."""
    for task in tasks:
        task.cancel()
    if tasks:
        _, late = await asyncio.wait(tasks, timeout=seconds)
        for task in late:
            log.warning("%g s after its cancellation this has not ended: %r", seconds, task)


async def to_the_end(work: Coroutine[Any, Any, None], name: str) -> None:
    """Do work that has a deadline of its own. If the waiter is cancelled meanwhile, that is raised after it."""
    task, cancellation = asyncio.create_task(work, name=name), None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as problem:
            cancellation = problem
    if cancellation is not None:
        raise cancellation
    task.result()


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, T], name: str) -> AsyncIterator["asyncio.Task[T]"]:
    """Run work beside a block, until it ends or the block does. The block gets the task."""
    task = asyncio.create_task(work, name=name)
    try:
        yield task
    finally:
        await cancelled(task)


def looked_at(task: "asyncio.Future[Any]") -> None:
    """Take what a task raised, as its callback: other code reports it, or no code needs it any longer."""
    if not task.cancelled():
        task.exception()


def log_failure(task: "asyncio.Future[Any]") -> None:
    """Log what a task raised, as its callback."""
    if not task.cancelled() and (problem := task.exception()) is not None:
        log.error("this has failed, and is not begun again: %r", task, exc_info=problem)


class Tasks:
    """Any number of tasks, each kept until it ends: the event loop alone would let it go."""

    def __init__(self) -> None:
        self._running = set[asyncio.Task[Any]]()

    def __len__(self) -> int:
        return len(self._running)

    def begin(self, work: Coroutine[Any, Any, T], name: str) -> "asyncio.Task[T]":
        """Start a task."""
        task = asyncio.create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def settled(self, seconds: float | None = None) -> None:
        """Wait until those that run now have ended. Without `seconds` they, or the caller, have a deadline."""
        if self._running:
            await asyncio.wait(self._running, timeout=seconds)

    async def close(self) -> None:
        """Cancel all, and wait until they have ended."""
        await cancelled(*self._running)
