"""How runners of tools end: what runs is waited for, and whatever fails meanwhile is reported."""

import asyncio
from pathlib import Path
from typing import cast

import pytest
from aiokafka import TopicPartition

from tests.support.stage import until
from tests.support.tool_calls import Calls, runner_of
from tokenmill.config import Config, Kafka, Tools
from tokenmill.errors import FatalError
from tokenmill.observe import TOOLS_METRICS, Numbers
from tokenmill.process import EXIT_S, Deadline
from tokenmill.tools.call_queue import CallQueue
from tokenmill.tools.link import Links
from tokenmill.tools.runner import Runner

pytestmark = pytest.mark.integration


class Busy:
    """A queue with a call that does not end."""

    running = 1

    def pause(self) -> None:
        """Begin nothing."""


async def test_a_rebalance_waits_no_longer_than_the_group_allows(unique: str) -> None:
    """Beyond that the group takes all partitions away, and every call that runs is in doubt."""
    config = Config(kafka=Kafka(rebalance_timeout_ms=400, group_id=unique), tools=Tools(handover_s=600))
    runner = Runner(config, Links(()), Numbers(TOOLS_METRICS))
    runner._queues[TopicPartition("tool-calls", 0)] = cast("CallQueue", Busy())
    async with asyncio.timeout(20):
        await runner.on_partitions_revoked(())


async def test_who_fails_while_it_drains_says_so(kafka: str, unique: str, tmp_path: Path) -> None:
    """At once: what runs has nobody who could write its result."""
    async with Calls(tmp_path, kafka, unique, drain_s=600) as calls:
        runner, stop = runner_of(calls), asyncio.Event()
        task = asyncio.create_task(runner.run(stop))
        await until(lambda: runner.readiness()[0], "it is ready")
        runner._queues[TopicPartition("tool-calls", 9)] = cast("CallQueue", Busy())
        stop.set()
        await until(lambda: runner.readiness()[1] == "draining", "it drains")
        del runner._queues[TopicPartition("tool-calls", 9)]
        runner._failure.tell(FatalError("fenced"))
        with pytest.raises(FatalError, match="fenced"):
            await asyncio.wait_for(task, 20)


class Faulty(Busy):
    """A queue that can't be left."""

    running = 0

    def leave(self) -> None:
        """Fail."""
        raise ValueError("odd")


async def test_a_drain_that_fails_is_reported(unique: str) -> None:
    """Results may be missing then, and an end without an error would hide it."""
    runner = Runner(Config(kafka=Kafka(group_id=unique)), Links(()), Numbers(TOOLS_METRICS))
    runner._queues[TopicPartition("tool-calls", 9)] = cast("CallQueue", Faulty())
    failing = asyncio.create_task(runner._failure.wait())
    with pytest.raises(ValueError, match="odd"):
        await runner._drain(failing)
    failing.cancel()


async def test_a_queue_that_breaks_names_itself(unique: str) -> None:
    """Whatever it raises ends the process with a sentence."""
    runner = Runner(Config(kafka=Kafka(group_id=unique)), Links(()), Numbers(TOOLS_METRICS))
    place = TopicPartition("tool-calls", 9)
    runner._control.read.set()  # so it looks for its queue, which is not there
    await runner._run_queue(place)
    with pytest.raises(FatalError, match=r"the queue of .*9.* ended: KeyError"):
        await runner._failure.wait()


async def test_who_fails_ends_in_time(kafka: str, unique: str, tmp_path: Path) -> None:
    """However long its parts take."""
    async with Calls(tmp_path, kafka, unique) as calls:
        deadline = Deadline(list[int]().append)
        runner = runner_of(calls, deadline)
        task = asyncio.create_task(runner.run(asyncio.Event()))
        await until(lambda: runner.readiness()[0], "it is ready")
        runner._failure.tell(FatalError("fenced"))
        with pytest.raises(FatalError, match="fenced"):
            await asyncio.wait_for(task, 20)
        assert deadline._timer is not None
        assert deadline._timer.interval == EXIT_S
        deadline._timer.cancel()
