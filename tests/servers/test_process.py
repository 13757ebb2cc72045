"""A server is a child that is watched while it starts and ended by its own pid."""

import os
import socket
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tokenmill.errors import MissingServer
from tokenmill.servers.process import Server, deaths, free_port, start_all


class Toy(Server):
    """A shell script for a server: ready when it has printed `ready`."""

    name = "toy"
    start_s = 5.0

    def __init__(self, folder: Path, script: str) -> None:
        super().__init__(folder)
        self._script = script

    def command(self) -> Sequence[str]:
        return ["/bin/sh", "-c", self._script]

    def ready(self) -> bool:
        return b"ready" in self.log.read_bytes()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_it_runs_inside_the_with_block(tmp_path: Path) -> None:
    """The process lives exactly as long as the block."""
    with Toy(tmp_path, "echo ready; exec sleep 60") as server:
        pid = server.pid
        assert alive(pid)
    assert not alive(pid)
    with pytest.raises(RuntimeError, match="toy is not running"):
        _ = server.pid


def test_a_server_that_ends_while_starting_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    """The end of the log is in the message."""
    with pytest.raises(MissingServer, match="toy does not start: no space"):
        Toy(tmp_path, "echo no space; exit 1").start()


def test_a_server_that_never_gets_ready_is_ended(tmp_path: Path) -> None:
    """Starting has a deadline; no process is left behind."""
    server = Toy(tmp_path, "echo $$; exec sleep 60")
    server.start_s = 0.3
    with pytest.raises(MissingServer):
        server.start()
    assert not alive(int(server.log.read_text()))


def test_a_server_that_ignores_the_stop_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An orderly stop has a deadline, too."""
    monkeypatch.setattr("tokenmill.servers.process.STOP_S", 0.2)
    server = Toy(tmp_path, "trap '' TERM; echo ready; while :; do sleep 0.1; done")
    server.start()
    pid = server.pid
    server.stop()
    assert not alive(pid)


def test_where_it_runs_is_for_the_server_to_say(tmp_path: Path) -> None:
    """In its own folder, unless it says another one; with the variables that it says."""

    class Elsewhere(Toy):
        def surroundings(self) -> dict[str, Any]:
            return {"cwd": tmp_path, "env": {"WORD": "ready"}}

    with Elsewhere(tmp_path / "a", "pwd; echo $WORD; exec sleep 60") as server:
        assert server.log.read_text().split() == [str(tmp_path), "ready"]
    with Toy(tmp_path / "b", "pwd; echo ready; exec sleep 60") as toy:
        assert toy.log.read_text().split() == [str(tmp_path / "b"), "ready"]


def test_stopping_twice_is_harmless(tmp_path: Path) -> None:
    """A test that killed its server may leave the fixture to stop it."""
    server = Toy(tmp_path, "echo ready; exec sleep 60")
    server.start()
    server.kill()
    server.stop()
    server.freeze()


BUSY = """
import threading, time
for _ in range(8):
    threading.Thread(target=lambda: [time.sleep(0.0001) for _ in iter(int, 1)], daemon=True).start()
print("ready", flush=True)
time.sleep(60)
"""
"""A process with threads that are always about to run."""


def test_what_is_frozen_does_nothing_more(tmp_path: Path) -> None:
    """None of its threads: a broker would still take a record that is sent then. It may be frozen twice."""
    server = Toy(tmp_path, f"exec {sys.executable} -c '{BUSY}'")
    server.start()
    try:
        for _ in range(100):
            server.freeze()
            threads = Path(f"/proc/{server.pid}/task").glob("*/stat")
            assert {stat.read_text().rpartition(")")[2].split()[0] for stat in threads} == {"T"}
            server.freeze()
            server.thaw()
    finally:
        server.kill()
        server.freeze()


def test_a_free_port_can_be_bound() -> None:
    """The port is free at the time of the call."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", free_port()))


def test_several_start_at_once_and_what_has_ended_is_named(tmp_path: Path) -> None:
    """All are stopped behind the block, whoever started."""
    with ExitStack() as running:
        lasting = Toy(tmp_path / "lasting", "echo ready; exec sleep 60")
        short = Toy(tmp_path / "short", "echo ready; sleep 0.3; echo no more; exit 3")
        start_all(running, (lasting, short))
        pid = lasting.pid
        short.process.wait(10)
        assert deaths((lasting,)) == ""
        assert deaths((lasting, short)) == "toy has ended with 3: ready\nno more"
    assert not alive(pid)
