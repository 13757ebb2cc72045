"""Runs a program, and ends it with all that it started when the process that wanted it ends, however that happens.

    python -I -S launch.py PARENT BYTES COMMAND [ARGUMENT]...

It leads a group of processes. When the program ends, when it is told to (SIGTERM), or when its parent is gone, it ends
the group: politely, then not. `BYTES` is how much memory each process of the group may have; 0 sets no limit. It is run
as a file, and imports little: each server waits for it.
"""

import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1

GRACE_S = 2.0
"""Between SIGTERM and SIGKILL."""

LOOK_S = 0.02


def main(arguments: Sequence[str]) -> int:
    """The exit code of the program, as shells have it."""
    parent, memory, *command = arguments
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):  # it ended before we asked to be told
        return 1
    if limit := int(memory):
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    signal.signal(signal.SIGTERM, _told)
    child = os.posix_spawnp(command[0], command, os.environ, setsigdef=[signal.SIGTERM])
    try:
        _, status = os.waitpid(child, 0)
    except Ended:
        status = 0
    end_group()
    return os.waitstatus_to_exitcode(status) & 0x7F


class Ended(Exception):
    """We were told to end."""


def _told(*_: object) -> None:
    raise Ended


def end_group() -> None:
    """End whoever is in our group, but for us; us too, if others do not go."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(0, signal.SIGTERM)
    until = time.monotonic() + GRACE_S
    while _others() and time.monotonic() < until:
        time.sleep(LOOK_S)
    if _others():
        os.killpg(0, signal.SIGKILL)


def _others() -> bool:
    """Whether anybody else is in the group."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:  # who has ended counts until somebody has looked
            pass
    except ChildProcessError:
        pass
    return any(_group(pid) == os.getpgrp() for pid in _processes() if pid != os.getpid())


def _processes() -> list[int]:
    try:
        return [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
    except OSError:  # elsewhere than on Linux nobody tells
        return []


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return -1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
