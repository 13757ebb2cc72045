"""The server that all processes of a test run share."""

import fcntl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.support.shared import shared

WAIT_S = 30.0


class Servers:
    """Counts what is started and stopped; a server's address is its number."""

    def __init__(self) -> None:
        self.started, self.stopped = 0, 0

    @contextmanager
    def start(self, _folder: Path) -> Iterator[str]:
        """One more, until the block is left."""
        self.started += 1
        yield str(self.started)
        self.stopped += 1


def test_who_starts_it_stops_it_when_nobody_uses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Users come and go meanwhile; who comes after its end begins anew."""
    servers = Servers()
    leaving, waits, left = threading.Event(), threading.Event(), threading.Event()
    flock = fcntl.flock

    def noticed(file: IO[str], operation: int) -> None:
        if (Path(file.name).name, operation) == ("users", fcntl.LOCK_EX):
            waits.set()
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", noticed)

    def first() -> None:
        with shared(tmp_path, servers.start):
            using.set()
            assert leaving.wait(WAIT_S)
        left.set()

    using = threading.Event()
    owner = threading.Thread(target=first)
    owner.start()
    assert using.wait(WAIT_S)
    with shared(tmp_path, servers.start) as address, shared(tmp_path, servers.start) as again:
        leaving.set()
        assert waits.wait(WAIT_S)
        assert (address, again, servers.started, servers.stopped) == ("1", "1", 1, 0)
    owner.join(WAIT_S)
    assert (left.is_set(), servers.stopped) == (True, 1)
    with shared(tmp_path, servers.start) as address:
        assert address == "2"
    assert servers.stopped == 2
