"""What every long-running process of ours needs: a port, an end that comes, and few searches for garbage."""

import asyncio
import errno
import os
import socket
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tokenmill.errors import FatalError

T = TypeVar("T")

EXIT_S = 5.0
"""From the end of the drain, or from a failure, to the end of the process."""


class ToldToStop(Exception):
    """A process is told to end before it has begun."""


async def before(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T:
    """The result of what a process can't begin without. Raises `ToldToStop` if `stop` comes first; it is cancelled."""
    working, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ToldToStop
        return working.result()
    finally:
        for task in (working, stopping):
            task.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)


class Deadline:
    """Ends the process if it does not end by itself: the host knows no deadline on stop."""

    def __init__(self, exit_process: Callable[[int], Any] = os._exit) -> None:
        self._exit = exit_process
        self._timer: threading.Timer | None = None

    def start(self, seconds: float, why: str) -> None:
        """From now on there are so many seconds left. The first call counts."""
        if self._timer is None:
            self._timer = threading.Timer(seconds, self._end, (seconds, why))
            self._timer.daemon = True
            self._timer.start()

    def _end(self, seconds: float, why: str) -> None:
        sys.stderr.write(f"{why}: not over after {seconds:g} s; ending the process\n")
        sys.stderr.flush()
        self._exit(1)


_TAKEN = frozenset({errno.EADDRINUSE, errno.EACCES})
"""What is wrong with a port; all else is with the address."""


def bound(bind: str, port: int, section: str, prefix: str = "") -> socket.socket:
    """A socket at the address that the settings `bind` and `port` of a section name, with this prefix if they have one.

    Raises `FatalError` that says which of the two to change.
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
            + (f"{key}PORT, or 0 for any that is free" if problem.errno in _TAKEN else f"{key}BIND, or 0.0.0.0 for all")
        ) from problem
    return sock
