"""The calls of one partition that are at their servers, and those that are looked at before a person is asked."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Protocol, TypeVar

from tokenmill.tasks import cancelled
from tokenmill.tools.call import Call
from tokenmill.tools.catalogue import server_of
from tokenmill.tools.concurrency_limits import ConcurrencyLimits
from tokenmill.tools.content import quoted
from tokenmill.tools.control import Orders
from tokenmill.tools.outcome import CANCELLED, Outcome, Progress

T = TypeVar("T")

PROGRESS_S = 0.5
"""Seconds between two reports of progress."""

log = logging.getLogger(__name__)


class Servers(Protocol):
    """Access to the tools."""

    async def look(self, call: Call) -> str | Outcome:
        """Return the fingerprint of the tool, or why the call can't be made."""

    async def make(self, call: Call, fingerprint: str, progress: Callable[[Progress], None]) -> Outcome:
        """Make the call, once, and report its progress. The tool must have the fingerprint, if one is given."""


class RunningCalls:
    """Calls that are made, each in a task. Outcomes come in the order in which calls end."""

    def __init__(self, servers: Servers, limits: ConcurrencyLimits, tell: Callable[[], None]) -> None:
        self._servers = servers
        self._limits = limits
        self._tell = tell
        self._calls: dict[bytes, tuple[Call, asyncio.Task[Outcome]]] = {}
        self._looks: dict[bytes, asyncio.Task[str | Outcome]] = {}
        self._unwanted: set[bytes] = set()
        self._told: set[bytes] = set()
        """Keys of calls that end, and whose outcome is already written."""
        self.over: deque[tuple[Call, Outcome]] = deque()
        """Calls that are over, and their outcomes."""
        self._noted: dict[bytes, tuple[Call, Progress]] = {}
        """Latest progress of each call since the last report."""
        self.progress: dict[bytes, tuple[Call, Progress]] = {}
        """Progress to be reported now."""
        self._telling: asyncio.TimerHandle | None = None
        self.looked_at: deque[tuple[Call, str]] = deque()
        """Calls that can be made, and the fingerprints of their tools."""

    @property
    def running(self) -> int:
        """How many calls are at their servers."""
        return len(self._calls)

    @property
    def calls(self) -> list[Call]:
        """Calls whose outcome is still to be written."""
        return [call for key, (call, _) in self._calls.items() if key not in self._told]

    @property
    def looking(self) -> int:
        """How many calls are being looked at."""
        return len(self._looks)

    def begin(self, call: Call, fingerprint: str) -> None:
        """Make a call that has a place."""
        work = self._servers.make(call, fingerprint, lambda progress: self._heard(call, progress))
        task = asyncio.create_task(work, name=f"a call of {call.name}")
        self._calls[call.key] = call, task
        task.add_done_callback(lambda task: self._made(call, task))

    def _heard(self, call: Call, progress: Progress) -> None:
        """Note progress. It is not reported immediately, as some tools count to a million."""
        if call.key in self._calls and call.key not in self._told:
            self._noted[call.key] = call, progress
            if self._telling is None:
                self._telling = asyncio.get_running_loop().call_later(PROGRESS_S, self._tell_progress)

    def _tell_progress(self) -> None:
        self._telling = None
        self.progress |= self._noted
        self._noted.clear()
        self._tell()

    def _forget_progress(self, key: bytes) -> None:
        self._noted.pop(key, None)
        self.progress.pop(key, None)

    def look(self, call: Call) -> None:
        """Find out whether a call can be made."""
        task = asyncio.create_task(self._servers.look(call), name=f"a look at {call.name}")
        self._looks[call.key] = task
        task.add_done_callback(lambda task: self._looked(call, task))

    def cancel(self, orders: Orders) -> None:
        """End calls that are no longer wanted; their servers are told."""
        for key, (call, task) in self._calls.items():
            if key not in self._unwanted and orders.cancelled(call):
                self._unwanted.add(key)
                task.cancel()

    def let_go(self, key: bytes) -> None:
        """End a call or a look, if it is under way. The caller of this writes the outcome."""
        if (found := self._calls.get(key)) is not None:
            self._told.add(key)
            self._forget_progress(key)
            found[1].cancel()
        if (look := self._looks.get(key)) is not None:
            self._told.add(key)
            look.cancel()
        self.looked_at = deque(each for each in self.looked_at if each[0].key != key)

    def _made(self, call: Call, task: "asyncio.Task[Outcome]") -> None:
        """Take the outcome of a call. The task itself can't report it: it may be cancelled before it begins."""
        unwanted, told = call.key in self._unwanted, call.key in self._told
        del self._calls[call.key]
        self._unwanted.discard(call.key)
        self._told.discard(call.key)
        self._forget_progress(call.key)
        self._limits.release(server_of(call.name))
        if not told and (unwanted or not task.cancelled()):
            self.over.append((call, CANCELLED if task.cancelled() else _result(call, task)))
            self._tell()

    def _looked(self, call: Call, task: "asyncio.Task[str | Outcome]") -> None:
        del self._looks[call.key]
        if call.key in self._told or task.cancelled():
            self._told.discard(call.key)
            return
        found = _result(call, task)
        if isinstance(found, Outcome):
            self.over.append((call, found))
        else:
            self.looked_at.append((call, found))
        self._tell()

    async def close(self) -> None:
        """End them all. The next owner of the partition decides what becomes of them."""
        if self._telling is not None:
            self._telling.cancel()
        await cancelled(*(task for _, task in self._calls.values()), *self._looks.values())


def _result(call: Call, task: "asyncio.Task[T]") -> T | Outcome:
    """Return a task's result, or an outcome with its exception."""
    problem = task.exception()
    if problem is None:
        return task.result()
    log.error("a call of %s", quoted(call.name), exc_info=problem)
    return Outcome(error=repr(problem), code="transport")
