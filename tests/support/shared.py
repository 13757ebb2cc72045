"""One server for all processes of a test run: a broker less is a start less, and one that idles less for a whole run.

1. The first process that needs the server starts it, and writes its address into the run's folder.
2. Each process that uses it holds a lock that users share. So the process that started it can wait for the others at
   its end, and one that dies gives its lock back.
3. Addresses are written, read and removed under another lock. A server that is about to end has no address: a process
   that comes then starts the next one.
4. Only one server can be shared so. Of two processes with a server each, that use both, each would wait for the other.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import IO

import pytest

Start = Callable[[Path], AbstractContextManager[str]]
"""Start a server in a folder, for as long as the block lasts, and give its address."""


def run_folder(factory: pytest.TempPathFactory) -> Path:
    """Return the folder that all processes of this run have in common."""
    folder = factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@contextmanager
def shared(folder: Path, start: Start) -> Iterator[str]:
    """Give the address of the run's server, which is started if there is none."""
    address = folder / "address"
    with (folder / "lock").open("w") as lock, (folder / "users").open("w") as users, ExitStack() as own:
        with _locked(lock):
            if not address.exists():
                address.write_text(own.enter_context(start(folder / str(os.getpid()))))
                own.enter_context(_last(lock, users, address))
            fcntl.flock(users, fcntl.LOCK_SH)
        yield address.read_text()


@contextmanager
def _last(lock: IO[str], users: IO[str], address: Path) -> Iterator[None]:
    """Wait at the end until no other process uses the server: all their tests have deadlines."""
    yield
    with _locked(lock):
        fcntl.flock(users, fcntl.LOCK_EX)
        address.unlink()


@contextmanager
def _locked(file: IO[str]) -> Iterator[None]:
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
