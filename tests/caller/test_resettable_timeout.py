"""A deadline for each wait of a loop: what counts as waiting, and what ends it."""

import asyncio
from contextlib import closing
from types import SimpleNamespace

import pytest

from tokenmill.caller import resettable_timeout as module
from tokenmill.caller.resettable_timeout import ResettableTimeout


async def test_a_wait_that_takes_too_long_ends() -> None:
    """As a timeout, also if it is not the first one; the task goes on."""
    with closing(ResettableTimeout(0.05)) as limit:
        with limit:
            await asyncio.sleep(0)
        with pytest.raises(TimeoutError), limit:
            await asyncio.Event().wait()
        with limit:
            await asyncio.sleep(0.01)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_only_waiting_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither many short waits nor the time between them."""
    now, task = [0.0], asyncio.current_task()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with closing(ResettableTimeout(10)) as limit:
        for between, wait in ((20, 1), (1, 9), (0, 9), (30, 9)):
            now[0] += between
            limit._look()
            with limit:
                now[0] += wait
                limit._look()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_wait_has_its_full_time_whenever_it_begins() -> None:
    """The timer may ring in the middle of it."""
    with closing(ResettableTimeout(0.2)) as limit:
        await asyncio.sleep(0.1)
        began = asyncio.get_running_loop().time()
        async with asyncio.timeout(5):
            with pytest.raises(TimeoutError), limit:
                await asyncio.Event().wait()
        assert 0.19 < asyncio.get_running_loop().time() - began < 2


async def test_waits_may_become_shorter_and_longer() -> None:
    """From then on, also where the timer was set for long."""
    with closing(ResettableTimeout(30)) as limit:
        limit.change(0.05)
        with pytest.raises(TimeoutError), limit:
            await asyncio.Event().wait()
    with closing(ResettableTimeout(0.05)) as limit:
        limit.change(30)
        with limit:
            await asyncio.sleep(0.1)


async def test_a_cancel_is_no_timeout() -> None:
    """One of others' ends the task."""

    async def waiting() -> None:
        with closing(ResettableTimeout(30)) as limit, limit:
            await asyncio.Event().wait()

    task = asyncio.create_task(waiting())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_closed_it_looks_no_more() -> None:
    """Its timer would cancel a task that does something else by then."""
    with closing(ResettableTimeout(0.02)) as limit:
        pass
    with limit:
        await asyncio.sleep(0.06)
