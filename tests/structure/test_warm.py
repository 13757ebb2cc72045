"""Processes that tests fork in place of starting them: they are what they would be."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import WARM
from tests.support.processes import there
from tests.support.warm import OURS, UNKNOWN, Copy, Warm

pytestmark = pytest.mark.integration

LINUX = sys.platform == "linux"
"""Elsewhere all are started, and do the same."""

NOBODY = ["[kafka]", 'bootstrap_servers = "127.0.0.1:1"', "[worker]", 'bind = "127.0.0.1"', "port = 0"]


def started(folder: Path, *arguments: str) -> "Copy | subprocess.Popen[bytes]":
    with (folder / "log").open("wb") as log:
        return next(WARM).launch([*OURS, *arguments], log, {"cwd": folder})


def test_an_end_is_told_to_all_who_ask(tmp_path: Path) -> None:
    """Threads may look for it side by side; the one that forks goes on."""
    for _ in range(2):
        copy = started(tmp_path, "--version")
        if isinstance(copy, Copy):
            other = Copy(copy._warm, copy.args, copy.pid)
            assert (copy.wait(60), other.wait(60)) == (0, 0)


def test_one_that_does_not_answer_is_asked_nothing_more(tmp_path: Path) -> None:
    """Whoever comes next has another one started."""
    if not LINUX:
        return
    warm = Warm()
    warm._way, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.close()
    with (tmp_path / "log").open("wb") as log, pytest.raises(BrokenPipeError):
        warm.launch([*OURS, "--version"], log, {"cwd": tmp_path})
    assert warm._way is None


def test_one_that_ends_before_it_answers_is_asked_nothing_more(tmp_path: Path) -> None:
    """It has read what it was asked, so that nothing but the end of its answers tells."""
    if not LINUX:
        return
    warm = Warm()
    warm._way, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.shutdown(socket.SHUT_WR)
    with (tmp_path / "log").open("wb") as log, pytest.raises(ConnectionResetError):
        warm.launch([*OURS, "--version"], log, {"cwd": tmp_path})
    theirs.close()
    assert warm._way is None


def test_a_copy_outlives_the_one_that_forked_it(tmp_path: Path) -> None:
    """Whether it runs can be seen. How it ended cannot, and the next one that forks is not ended by the question."""
    (tmp_path / "tokenmill.toml").write_text("\n".join(NOBODY))
    working = started(tmp_path, "worker", "--config", "tokenmill.toml")
    if isinstance(working, Copy):
        working._warm = Warm()
        assert working.poll() is None
        os.kill(working.pid, signal.SIGKILL)
        assert working.wait(60) == UNKNOWN
        with (tmp_path / "log").open("wb") as log:
            assert working._warm.launch([*OURS, "--version"], log, {"cwd": tmp_path}).wait(60) == 0
    else:
        working.kill()
        working.wait(60)


def test_a_copy_ends_as_its_command_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its own folder, with the variables of now, and what it writes is in its log."""
    monkeypatch.setenv("TOKENMILL_WORKER__PORT", "-1")
    assert started(tmp_path, "config", "check").wait(60) == 2
    assert "worker.port" in (tmp_path / "log").read_text()
    monkeypatch.delenv("TOKENMILL_WORKER__PORT")
    (tmp_path / "text").write_text("Hello")
    parsing = started(tmp_path, "parse", "--format", "plain", "text")
    assert isinstance(parsing, Copy) is LINUX
    assert parsing.wait(60) == parsing.returncode == 0
    assert '"delta":"Hello"' in (tmp_path / "log").read_text()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 0)])
def test_a_copy_is_signalled_and_waited_for(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """As a process is: while it runs there is no code, and a wait has an end."""
    (tmp_path / "tokenmill.toml").write_text("\n".join(NOBODY))
    working = started(tmp_path, "worker", "--config", "tokenmill.toml")
    with pytest.raises(subprocess.TimeoutExpired):
        working.wait(0.01)
    assert (working.poll(), there(working.pid)) == (None, True)
    while b"giving up in" not in (tmp_path / "log").read_bytes():
        assert working.poll() is None
    working.send_signal(number)
    assert working.wait(60) == code
    assert not there(working.pid)
    working.kill()  # nobody else has its number


@pytest.mark.parametrize(("command", "surroundings"), [([*OURS, "codecs"], {"env": os.environ}), (["true"], {})])
def test_what_can_be_no_copy_is_a_process(tmp_path: Path, command: list[str], surroundings: dict[str, object]) -> None:
    """Another program, or another environment."""
    with (tmp_path / "log").open("wb") as log:
        process = next(WARM).launch(command, log, {"cwd": tmp_path, **surroundings})
    assert isinstance(process, subprocess.Popen)
    assert process.wait(60) == 0


def test_variables_for_python_make_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads them when it starts."""
    monkeypatch.setenv("PYTHONDEVMODE", "1")
    process = started(tmp_path, "codecs")
    assert isinstance(process, subprocess.Popen)
    assert process.wait(60) == 0
