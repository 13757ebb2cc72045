"""What long-running processes share: parts, signals, a deadline on their end."""

import asyncio
import gc
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.support.unread import unread_pipe
from tokenmill.config import Config
from tokenmill.errors import ConfigError, FatalError, Unavailable
from tokenmill.observe.telemetry import Telemetry
from tokenmill.process import (
    EXIT_S,
    Deadline,
    Failure,
    ToldToStop,
    before,
    bound,
    run_process,
    run_until,
)


def test_a_deadline_ends_the_process_once(capsys: pytest.CaptureFixture[str]) -> None:
    """The first reason to end counts; a process that is over by then never notices."""
    ended, codes = threading.Event(), list[int]()

    def exit_process(code: int) -> None:
        codes.append(code)
        ended.set()

    deadline = Deadline(exit_process)
    deadline.start(0.01, "stop")
    deadline.start(0.0, "failure")
    assert ended.wait(10)
    assert codes == [1]
    assert "stop: not over after 0.01 s" in capsys.readouterr().err


LATE = "import time; from tokenmill.process import Deadline; Deadline().start(0.01, 'stop'); time.sleep(60)"


def test_a_deadline_ends_the_process_though_nothing_can_be_logged() -> None:
    """The disk of the log is full, or nobody reads it: writing raises, or waits for ever."""
    with Path("/dev/full").open("wb") as full, unread_pipe() as unread:
        for log in (full, unread):
            assert subprocess.run([sys.executable, "-c", LATE], stderr=log, timeout=30, check=False).returncode == 1


async def test_what_a_process_waits_for_ends_when_it_is_told_to() -> None:
    """Otherwise its result or its error; nothing keeps running after either."""
    stop, never = asyncio.Event(), asyncio.Event()

    async def result() -> int:
        return 7

    async def broken() -> int:
        raise FatalError("no")

    tasks = asyncio.all_tasks()
    assert await before(stop, result()) == 7
    with pytest.raises(FatalError, match="no"):
        await before(stop, broken())
    asyncio.get_running_loop().call_later(0.01, stop.set)
    with pytest.raises(ToldToStop):
        await before(stop, never.wait())
    assert asyncio.all_tasks() == tasks


@pytest.mark.parametrize("turns", range(5))
async def test_a_start_that_is_nearly_over_when_the_signal_comes_is_cancelled(turns: int) -> None:
    """A client that had started meanwhile would be stopped by nobody."""
    stop, left = asyncio.Event(), list[str]()

    async def start() -> str:
        try:
            await stop.wait()
            for _ in range(turns):
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            left.append("cancelled")
            raise
        return "started"

    asyncio.get_running_loop().call_soon(stop.set)
    try:
        left.append(await before(stop, start()))
    except ToldToStop:
        assert left == ["cancelled"]
    assert len(left) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_runs_until_a_signal(number: int) -> None:
    """Which is a success."""
    before = gc.get_threshold()

    async def main(stop: asyncio.Event, _telemetry: Telemetry) -> None:
        os.kill(os.getpid(), number)
        await asyncio.wait_for(stop.wait(), 10)

    try:
        assert run_process(Config(), "gateway", main) == 0
    finally:
        gc.set_threshold(*before)


@pytest.mark.parametrize(
    ("problem", "code"), [(FatalError("there is no more"), 1), (ConfigError(["there is no more"]), 2)]
)
def test_a_process_that_can_not_go_on_says_why(
    problem: Exception, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """In its log, and with its exit code: a supervisor's restart does not help a configuration."""
    before = gc.get_threshold()

    async def main(_stop: asyncio.Event, _telemetry: Telemetry) -> None:
        raise problem

    try:
        assert run_process(Config(), "gateway", main) == code
    finally:
        gc.set_threshold(*before)
    out, err = capsys.readouterr()
    assert "there is no more" in out + err
    assert "Traceback" not in out + err


async def _waits() -> None:
    await asyncio.Event().wait()


async def test_parts_run_until_they_are_told_to_stop() -> None:
    """They still run during the drain, but not after it."""
    stop, tasks = asyncio.Event(), asyncio.all_tasks()
    asyncio.get_running_loop().call_later(0.01, stop.set)
    async with run_until(stop, {"one": _waits, "another": _waits}) as parts:
        assert stop.is_set()
        assert [parts[name].done() for name in ("one", "another")] == [False, False]
    assert asyncio.all_tasks() == tasks


async def _ends() -> None:
    """At once."""


async def _breaks() -> None:
    raise ExceptionGroup("several", [ExceptionGroup("inside", [ValueError("odd")])])


async def _lost() -> None:
    raise Unavailable("Kafka: away")


@pytest.mark.parametrize(
    ("part", "error", "said"),
    [
        (_ends, FatalError, "^the part ended by itself$"),
        (_breaks, FatalError, r"^the part ended: ValueError\('odd'\)$"),
        (_lost, Unavailable, "^Kafka: away$"),
    ],
)
async def test_a_part_that_ends_before_ends_all(
    part: Callable[[], Coroutine[Any, Any, None]], error: type[Exception], said: str
) -> None:
    """The reason is reported, and from then on time is short."""
    deadline, tasks = Deadline(list[int]().append), asyncio.all_tasks()
    with pytest.raises(error, match=said):
        async with run_until(asyncio.Event(), {"the part": part, "another": _waits}, deadline):
            pytest.fail("there is nothing to drain")
    assert deadline._timer is not None
    assert deadline._timer.interval == EXIT_S
    assert re.search(
        said, list(deadline._timer.args)[1]
    )  # what is left may take longer, and nothing else would report it
    deadline._timer.cancel()
    assert asyncio.all_tasks() == tasks


async def test_a_part_may_end_once_all_are_told_to_stop() -> None:
    """But not fail."""
    stop = asyncio.Event()
    stop.set()
    async with run_until(stop, {"the part": _ends}) as parts:
        assert parts["the part"].done()
    with pytest.raises(Unavailable):
        async with run_until(stop, {"the part": _lost}):
            pytest.fail("there is nothing to drain")


async def test_the_first_failure_that_is_told_counts() -> None:
    """From code without a task of its own among the parts."""
    failure = Failure()
    failure.tell(Unavailable("the first"))
    failure.tell(Unavailable("the second"))
    with pytest.raises(Unavailable, match="the first"):
        async with run_until(asyncio.Event(), {"the rest": failure.wait}):
            pytest.fail("there is nothing to drain")


def test_a_port_is_bound_for_whoever_asks() -> None:
    """For 0 any that is free; of both families."""
    for bind in ("127.0.0.1", "::1"):
        with bound(bind, 0, "gateway") as sock:
            assert sock.getsockname()[0] == bind
            assert sock.getsockname()[1] > 0


def test_a_port_that_is_taken_is_told_from_an_address_that_is_not_ours() -> None:
    """The message names the setting to change, by its environment variable."""
    with bound("127.0.0.1", 0, "worker") as other:
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(FatalError) as taken:
            bound("127.0.0.1", port, "worker")
    assert str(taken.value).startswith(f"worker.bind and worker.port: can't listen on 127.0.0.1 port {port}: ")
    assert str(taken.value).endswith("; set another TOKENMILL_WORKER__PORT, or 0 for any free one")
    for bind in ("192.0.2.1", "no-such-host.invalid", "2001:db8::1"):
        with pytest.raises(FatalError) as foreign:
            bound(bind, 0, "gateway", "ops_")
        assert str(foreign.value).startswith(f"gateway.ops_bind and gateway.ops_port: can't listen on {bind} port 0: ")
        assert str(foreign.value).endswith("; set another TOKENMILL_GATEWAY__OPS_BIND, or 0.0.0.0 for all")
