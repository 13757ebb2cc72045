"""Background tasks: kept while they run, and ended in one way."""

import asyncio
import gc
import logging

import pytest

from tokenmill.tasks import Tasks, beside, cancelled, looked_at, to_the_end


async def _waits() -> None:
    await asyncio.Event().wait()


async def _breaks() -> None:
    raise ValueError("odd")


class Stubborn:
    """Work that takes its time to end."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()

    async def run(self) -> None:
        """Until it is cancelled, and may end."""
        try:
            await _waits()
        finally:
            await self.may_end.wait()


async def test_what_is_cancelled_has_ended_then() -> None:
    """One that has ended already does no harm; neither does none."""
    running, over = asyncio.create_task(_waits()), asyncio.create_task(asyncio.sleep(0))
    await over
    await cancelled(running, over)
    assert running.cancelled()
    assert not over.cancelled()
    await cancelled()


async def test_ending_has_a_deadline(caplog: pytest.LogCaptureFixture) -> None:
    """A task that goes on after it is left, and the log has its name."""
    work = Stubborn()
    task = asyncio.create_task(work.run(), name="the stubborn one")
    await asyncio.sleep(0)
    await cancelled(task, seconds=0.01)
    assert not task.done()
    assert "the stubborn one" in caplog.text
    work.may_end.set()
    await asyncio.wait([task])


async def test_what_must_not_be_cut_off_is_not() -> None:
    """However often its waiter is cancelled, who hears of it afterwards; without that, of what it raised."""
    work = Stubborn()
    inner = asyncio.create_task(work.run())
    await asyncio.sleep(0)

    async def end() -> None:
        await cancelled(inner)

    waiter = asyncio.create_task(to_the_end(end(), "the end"))
    for _ in range(3):
        await asyncio.sleep(0)
        waiter.cancel()
    await asyncio.sleep(0)
    assert not waiter.done()
    work.may_end.set()
    await asyncio.wait([waiter])
    assert (waiter.cancelled(), inner.cancelled()) == (True, True)
    with pytest.raises(ValueError, match="odd"):
        await to_the_end(_breaks(), "what breaks")


async def test_a_cancelled_waiter_waits_no_longer() -> None:
    """Its own cancellation is raised, not taken for that of the task."""
    work = Stubborn()
    task = asyncio.create_task(work.run())
    await asyncio.sleep(0)
    waiter = asyncio.create_task(cancelled(task))
    await asyncio.sleep(0)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert not task.done()
    work.may_end.set()
    await asyncio.wait([task])


async def test_work_beside_a_block_ends_with_it() -> None:
    """Whether the block ends well or not."""
    tasks = asyncio.all_tasks()
    async with beside(_waits(), "one") as task:
        await asyncio.sleep(0)
        assert (task.get_name(), task.done()) == ("one", False)
    assert task.cancelled()
    with pytest.raises(ValueError, match="of the block"):
        async with beside(_waits(), "one"):
            raise ValueError("of the block")
    assert asyncio.all_tasks() == tasks


async def test_tasks_are_kept_until_they_end() -> None:
    """Closing ends those that are left."""
    tasks, go = Tasks(), asyncio.Event()
    done, waiting = tasks.begin(go.wait(), "one"), tasks.begin(_waits(), "another")
    assert len(tasks) == 2
    await tasks.settled(0.01)
    go.set()
    assert await done
    assert len(tasks) == 1
    await tasks.close()
    assert waiting.cancelled()
    assert not tasks
    await tasks.settled()
    await tasks.close()


async def test_what_nobody_takes_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """With the task's name; unless it is said that it was looked at."""
    tasks = Tasks()
    tasks.begin(_breaks(), "the broken one")
    tasks.begin(_breaks(), "the known one").add_done_callback(looked_at)
    tasks.begin(_waits(), "the cancelled one").add_done_callback(looked_at)
    with caplog.at_level(logging.ERROR):
        await tasks.settled(0.1)
        await tasks.close()
        gc.collect()
    assert "the broken one" in caplog.text
    assert "the known one" not in caplog.text
    assert "the cancelled one" not in caplog.text
