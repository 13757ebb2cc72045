"""The calls of one partition that are at their servers, and those that are looked at before somebody is asked."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from tokenmill.tools.call import Call
from tokenmill.tools.catalogue import server_of
from tokenmill.tools.concurrency_limits import ConcurrencyLimits
from tokenmill.tools.content import quoted
from tokenmill.tools.control import Orders
from tokenmill.tools.outcome import CANCELLED, Outcome, Progress

T = TypeVar("T")

PROGRESS_S = 0.5
"""Between two looks at how far calls are."""

log = logging.getLogger(__name__)


class Servers(Protocol):
    """Reaches the tools."""

    async def look(self, call: Call) -> str | Outcome:
        """The fingerprint of the tool, or why the call can't be made."""

    async def make(self, call: Call, fingerprint: str, progress: Callable[[Progress], None]) -> Outcome:
        """Make the call, once, and tell how far it is. With a fingerprint the tool has to be the one that it is of."""


class RunningCalls:
    """Calls that are made, each as a task. What came of them is told in the order in which they ended."""

    def __init__(self, servers: Servers, limits: ConcurrencyLimits, tell: Callable[[], None]) -> None:
        self._servers = servers
        self._limits = limits
        self._tell = tell
        self._calls: dict[bytes, tuple[Call, asyncio.Task[Outcome]]] = {}
        self._looks: dict[bytes, asyncio.Task[str | Outcome]] = {}
        self._unwanted: set[bytes] = set()
        self._told: set[bytes] = set()
        """Those that end, and of which everything is said."""
        self.over: deque[tuple[Call, Outcome]] = deque()
        """Calls, and what came of them."""
        self.progress: dict[bytes, tuple[Call, Progress]] = {}
        """How far calls are that have said so since somebody looked: the last of what each has said."""
        self._telling: asyncio.TimerHandle | None = None
        self.looked_at: deque[tuple[Call, str]] = deque()
        """Calls that could be made, and the fingerprints of their tools."""

    @property
    def running(self) -> int:
        """How many calls are at their servers."""
        return len(self._calls)

    @property
    def calls(self) -> list[Call]:
        """Those of which something is still to be said."""
        return [call for key, (call, _) in self._calls.items() if key not in self._told]

    @property
    def looking(self) -> int:
        """How many calls are looked at."""
        return len(self._looks)

    def begin(self, call: Call, fingerprint: str) -> None:
        """Make a call that has a place."""
        work = self._servers.make(call, fingerprint, lambda progress: self._heard(call, progress))
        task = asyncio.create_task(work, name=f"a call of {call.name}")
        self._calls[call.key] = call, task
        task.add_done_callback(lambda task: self._made(call, task))

    def _heard(self, call: Call, progress: Progress) -> None:
        """Not told at once: some tools count to a million."""
        if call.key in self._calls and call.key not in self._told:
            self.progress[call.key] = call, progress
            if self._telling is None:
                self._telling = asyncio.get_running_loop().call_later(PROGRESS_S, self._tell_progress)

    def _tell_progress(self) -> None:
        self._telling = None
        self._tell()

    def look(self, call: Call) -> None:
        """Find out whether a call could be made."""
        task = asyncio.create_task(self._servers.look(call), name=f"a look at {call.name}")
        self._looks[call.key] = task
        task.add_done_callback(lambda task: self._looked(call, task))

    def cancel(self, orders: Orders) -> None:
        """End those that are not wanted any more; their servers are told."""
        for key, (call, task) in self._calls.items():
            if key not in self._unwanted and orders.cancelled(call):
                self._unwanted.add(key)
                task.cancel()

    def let_go(self, key: bytes) -> None:
        """End a call or a look, if it is under way. What comes of it is said by whoever asks for this."""
        if (found := self._calls.get(key)) is not None:
            self._told.add(key)
            self.progress.pop(key, None)
            found[1].cancel()
        if (look := self._looks.get(key)) is not None:
            self._told.add(key)
            look.cancel()
        self.looked_at = deque(each for each in self.looked_at if each[0].key != key)

    def _made(self, call: Call, task: "asyncio.Task[Outcome]") -> None:
        """A call is over. Not said by the task itself, which may be cancelled before it begins."""
        unwanted, told = call.key in self._unwanted, call.key in self._told
        del self._calls[call.key]
        self._unwanted.discard(call.key)
        self._told.discard(call.key)
        self.progress.pop(call.key, None)
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
        """End them all. The next owner of the partition says what becomes of them."""
        if self._telling is not None:
            self._telling.cancel()
        tasks: list[asyncio.Task[Any]] = [*(task for _, task in self._calls.values()), *self._looks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _result(call: Call, task: "asyncio.Task[T]") -> T | Outcome:
    """What a task answered; an outcome for what it failed of."""
    problem = task.exception()
    if problem is None:
        return task.result()
    log.error("a call of %s", quoted(call.name), exc_info=problem)
    return Outcome(error=repr(problem), code="transport")
