"""Runs a program, and ends it with all that it started when its parent ends, however that happens.

    python -I -S launch.py PARENT BYTES COMMAND [ARGUMENT]...

It leads a group of processes. It ends the group when the program ends, on SIGTERM, or when its parent is gone: first
with SIGTERM, then with SIGKILL. On Linux it also ends processes that have left the group for a session of their own;
elsewhere nothing shows who started them. `BYTES` is the memory that each process may have; 0 sets no limit. It is run
as a file and imports little, because each server waits for it.
"""

import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import Iterable, Sequence

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

GRACE_S = 1.5
"""Seconds between SIGTERM and SIGKILL: fewer than the parent waits for us."""

LAST_S = 0.3
"""Seconds after that for the rest to exit."""

LOOK_S = 0.02

NOT_RUN = 126
"""Exit code of shells for a program that they can't run."""

DEFAULTS = signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ
"""Signals that a program takes as it would if we had not started it: Python ignores the last two."""


def main(arguments: Sequence[str]) -> int:
    """Return the exit code of the program, as shells do."""
    parent, memory, *command = arguments
    if sys.platform == "linux":
        system = ctypes.CDLL(None)
        system.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        system.prctl(PR_SET_CHILD_SUBREAPER, 1)  # processes whose parents have ended become our children
    if os.getppid() != int(parent):  # it ended before we asked for the signal
        return 1
    if limit := int(memory):
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    signal.signal(signal.SIGTERM, _told)
    try:
        status = _run(command)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    except OSError as problem:
        print(f"can't run {command[0]}: {problem.strerror}", file=sys.stderr)  # noqa: T201 -- the parent logs it
        return NOT_RUN
    except Ended:
        status = 0
    end_all()
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code  # a signal is a negative number


def _run(command: list[str]) -> int:
    """Return the status with which the program ends, and reap all other children."""
    child = os.posix_spawnp(command[0], command, os.environ, setsigdef=DEFAULTS)
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == child:
            return status


class Ended(Exception):
    """SIGTERM has come."""


def _told(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Ended


def end_all() -> None:
    """End all processes that are in our group or have left it; ourselves, too, if some of them stay."""
    os.killpg(0, signal.SIGTERM)
    _send(signal.SIGTERM, _outside())
    until = time.monotonic() + GRACE_S
    while _others() and time.monotonic() < until:
        time.sleep(LOOK_S)
    until = time.monotonic() + LAST_S
    while (left := _others()) and time.monotonic() < until:
        _send(signal.SIGKILL, left)  # again and again: processes that they start meanwhile become our children
        time.sleep(LOOK_S)
    if left:
        os.killpg(0, signal.SIGKILL)


def _send(what: signal.Signals, processes: Iterable[int]) -> None:
    for pid in processes:
        try:  # noqa: SIM105 -- contextlib is one more to import
            os.kill(pid, what)
        except OSError:  # it has ended, or is another user's
            pass


def _outside() -> list[int]:
    return [pid for pid in _others() if _group(pid) != os.getpgrp()]


def _others() -> list[int]:
    """Return the other processes of the group, and those that have left it."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:  # one that has ended counts until it is reaped
            pass
    except ChildProcessError:
        pass
    ours, parents = {os.getpid()}, {pid: _parent(pid) for pid in _processes()}
    ours |= {pid for pid in parents if _group(pid) == os.getpgrp()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return list(ours - {os.getpid()})


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 -- pathlib is slow to import
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return -1


def _processes() -> list[int]:
    try:
        return [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
    except OSError:  # not on Linux
        return []


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return -1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
