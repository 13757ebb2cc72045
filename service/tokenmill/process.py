"""The needs of every long-running process of ours: a port, parts that run until a signal or failure, a deadline."""

import asyncio
import errno
import faulthandler
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeAlias, TypeVar

import uvloop

from tokenmill.config import Config
from tokenmill.errors import ConfigError, FatalError, TokenmillError
from tokenmill.garbage import tune_garbage_collector
from tokenmill.observe import setup_logs
from tokenmill.observe.telemetry import Telemetry
from tokenmill.observe.telemetry_setup import telemetry_of
from tokenmill.tasks import cancelled

log = logging.getLogger(__name__)

T = TypeVar("T")

EXIT_S = 5.0
"""Seconds from the end of the drain, or from a failure, to the end of the process."""

SAY_S = 1.0
"""Seconds for the last words."""

Main: TypeAlias = Callable[[asyncio.Event, Telemetry], Coroutine[Any, Any, None]]
"""The work of a process, until the event is set."""


def run_process(config: Config, role: str, main: Main) -> int:
    """Run `main` until SIGTERM or SIGINT (0), or until it can't continue: for the code see `exit_code`.

    `role` is the process's in telemetry. Raises `MissingExtra` before anything is started.
    """
    setup_logs(config.worker.log_format, config.worker.log_level)
    telemetry = telemetry_of(config, role)
    tune_garbage_collector()

    async def until_signal() -> None:
        await main(stop_on_signals(), telemetry)

    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(until_signal())
    except TokenmillError as problem:
        log.critical("%s", problem)
        return exit_code(problem)
    finally:
        telemetry.close()
    return 0


def exit_code(problem: Exception) -> int:
    """The code of a process that this ends: 2 for the configuration, which no restart repairs, and 1 for all else."""
    return 2 if isinstance(problem, ConfigError) else 1


def stop_on_signals() -> asyncio.Event:
    """An event that SIGTERM and SIGINT set from now on."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


class ToldToStop(Exception):
    """A process got a signal to end before it was ready."""


async def before(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T:
    """The result of work that a process needs to begin. If `stop` comes first, cancels it and raises `ToldToStop`."""
    working, stopping = asyncio.create_task(work, name="the start"), asyncio.create_task(stop.wait(), name="a signal")
    try:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ToldToStop
        return working.result()
    finally:
        await cancelled(working, stopping)  # both at once: what is done meanwhile would be nobody's to close


def say_and_exit(words: str, exit_process: Callable[[int], Any] = os._exit, *, traces: bool = False) -> None:
    """Exit with code 1, once words, and the `traces` of all threads, are on standard error, or after `SAY_S`.

    To write them may raise, as where the log's disk is full, or wait for ever, as where nobody reads the log.
    """

    def say() -> None:
        sys.stderr.write(words)
        sys.stderr.flush()
        if traces:
            faulthandler.dump_traceback(all_threads=True)

    with suppress(RuntimeError):  # there can be no other thread
        saying = threading.Thread(target=say, daemon=True)
        saying.start()
        saying.join(SAY_S)
    exit_process(1)


class Deadline:
    """Ends the process if it does not end by itself: the host has no deadline for stopping."""

    def __init__(self, exit_process: Callable[[int], Any] = os._exit) -> None:
        self._exit = exit_process
        self._timer: threading.Timer | None = None

    def start(self, seconds: float, why: str) -> None:
        """End the process in this many seconds. Only the first call counts."""
        if self._timer is None:
            self._timer = threading.Timer(seconds, self._end, (seconds, why))
            self._timer.daemon = True
            self._timer.start()

    def _end(self, seconds: float, why: str) -> None:
        say_and_exit(f"{why}: not over after {seconds:g} s; ending the process\n", self._exit)


Part: TypeAlias = Callable[[], Coroutine[Any, Any, Any]]
"""Starts a part that runs as long as the process."""


@asynccontextmanager
async def run_until(
    stop: asyncio.Event, parts: Mapping[str, Part], deadline: Deadline | None = None
) -> AsyncIterator[Mapping[str, "asyncio.Task[Any]"]]:
    """Run the parts, given by name, until `stop`; the block is for the drain, and gets the tasks, which still run.

    If a part ends earlier, starts `deadline` and raises a `TokenmillError`: the part's own, or one that names it.
    """
    tasks = {name: asyncio.create_task(run(), name=name) for name, run in parts.items()}
    stopping = asyncio.create_task(stop.wait(), name="a signal")
    try:
        done, _ = await asyncio.wait((*tasks.values(), stopping), return_when=asyncio.FIRST_COMPLETED)
        for task in done - {stopping}:
            problem = _problem(task)
            if problem is not None or not stop.is_set():
                failure = _failure(task.get_name(), problem)
                if deadline is not None:
                    deadline.start(EXIT_S, str(failure))  # it may end the process before anything else reports it
                raise failure
        yield tasks
    finally:
        await cancelled(*tasks.values(), stopping)


def _problem(task: "asyncio.Task[Any]") -> BaseException | None:
    problem = None if task.cancelled() else task.exception()
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return problem


def _failure(name: str, problem: BaseException | None) -> TokenmillError:
    if isinstance(problem, TokenmillError):
        return problem
    return FatalError(f"{name} ended: {problem!r}" if problem else f"{name} ended by itself")


class Failure:
    """A failure that stops the process, reported by code that is not a part itself. Only the first one counts."""

    def __init__(self) -> None:
        self._told: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def tell(self, problem: Exception) -> None:
        """Make `wait` raise this."""
        if not self._told.done():
            self._told.set_exception(problem)

    async def wait(self) -> None:
        """Wait for a failure, as a part of a process, and raise it."""
        await self._told


_TAKEN = frozenset({errno.EADDRINUSE, errno.EACCES})
"""Errors that concern the port; all others concern the address."""


def bound(bind: str, port: int, section: str, prefix: str = "") -> socket.socket:
    """A socket at the address in the settings `bind` and `port` of a section, whose names may have a prefix.

    Raises `FatalError`, which names the setting to change.
    """
    sock = socket.socket(socket.AF_INET6 if ":" in bind else socket.AF_INET)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((bind, port))
    except OSError as problem:
        sock.close()
        key = f"TOKENMILL_{section}__{prefix}".upper()
        raise FatalError(
            f"{section}.{prefix}bind and {section}.{prefix}port: can't listen on {bind} port {port}: "
            f"{problem.strerror or problem}; set another "
            + (f"{key}PORT, or 0 for any free one" if problem.errno in _TAKEN else f"{key}BIND, or 0.0.0.0 for all")
        ) from problem
    return sock
