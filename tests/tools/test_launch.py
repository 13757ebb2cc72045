"""What a program started is gone when whoever wanted it is."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import there
from tests.support.stage import until
from tokenmill.tools import launch

PARENT = """
import os, subprocess, sys, time
launched = [sys.executable, "-I", "-S", sys.argv[1], str(os.getpid()), "0", *sys.argv[2:]]
subprocess.Popen(launched, start_new_session=True)
time.sleep(600)
"""

FAMILY = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", deaf])
open(sys.argv[1], "w").write(f"{os.getpid()} {child.pid}")
time.sleep(600)
"""


def launched(*command: str, parent: int | None = None) -> "subprocess.Popen[bytes]":
    arguments = ["-I", "-S", launch.__file__, str(parent or os.getpid()), "0", *command]
    return subprocess.Popen([sys.executable, *arguments], start_new_session=True)


def test_the_exit_code_is_the_programs() -> None:
    """As if it had been started by itself."""
    for code in (0, 3):
        assert launched(sys.executable, "-c", f"raise SystemExit({code})").wait(20) == code


def test_a_parent_that_has_gone_already_has_no_children() -> None:
    """It may end before anybody could be told."""
    assert launched(sys.executable, "-c", "print(1)", parent=1).wait(20) == 1


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_a_family_ends_with_its_parent(how: signal.Signals, tmp_path: Path) -> None:
    """Also one that does not listen."""
    path = tmp_path / "pids"
    command = [sys.executable, "-c", PARENT, launch.__file__, sys.executable, "-c", FAMILY, str(path)]
    parent = await asyncio.create_subprocess_exec(*command)
    pids = [int(pid) for pid in (await until(lambda: path.exists() and path.read_text(), "they run", 20)).split()]
    assert all(map(there, pids))
    parent.send_signal(how)
    await parent.wait()
    await until(lambda: not any(map(there, pids)), "all have ended", 20)
