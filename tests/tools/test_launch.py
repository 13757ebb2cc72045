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

INTERRUPTED = """
import os, runpy, signal, sys
spawn = os.posix_spawnp

def interrupted(*what, **how):
    child = spawn(*what, **how)
    print(child, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    return child

os.posix_spawnp = interrupted
sys.argv[1:] = [sys.argv[1], str(os.getppid()), "0", "sleep", "600"]
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

FAMILY = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", deaf], start_new_session=sys.argv[2] == "detached")
open(sys.argv[1], "w").write(f"{os.getpid()} {child.pid}")
time.sleep(600)
"""

RESTLESS = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(sys.argv[1], "w") as file:
    while True:
        file.write(f"{subprocess.Popen(['sleep', '600'], start_new_session=True).pid} ")
        file.flush()
        time.sleep(0.01)
"""


def launched(*command: str, parent: int | None = None, **pipes: int) -> "subprocess.Popen[bytes]":
    arguments = ["-I", "-S", launch.__file__, str(parent or os.getpid()), "0", *command]
    return subprocess.Popen([sys.executable, *arguments], start_new_session=True, **pipes)  # type: ignore[call-overload,no-any-return] # only pipes


def test_the_exit_code_is_the_programs() -> None:
    """As if it had been started by itself."""
    for code in (0, 3, 128, 255):
        assert launched(sys.executable, "-c", f"import os; os._exit({code})").wait(20) == code
    killed = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert launched(sys.executable, "-c", killed).wait(20) == 128 + signal.SIGKILL


def test_a_program_that_cannot_be_run_is_told_of(tmp_path: Path) -> None:
    """In a sentence, with the exit code of shells."""
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    process = launched(str(script), stderr=subprocess.PIPE)
    _, said = process.communicate(timeout=20)
    assert (process.returncode, said.decode()) == (126, f"can't run {script}: No such file or directory\n")


def test_no_signal_is_ignored() -> None:
    """Python ignores two, and programs that it starts would do so, too."""
    process = launched("grep", "SigIgn", "/proc/self/status", stdout=subprocess.PIPE)
    said, _ = process.communicate(timeout=20)
    assert int(said.split()[1], 16) & sum(1 << number - 1 for number in (signal.SIGPIPE, signal.SIGXFSZ)) == 0


def test_whoever_is_told_to_end_while_it_starts_something_ends_it() -> None:
    """Whatever it knows of it by then."""
    arguments = [sys.executable, "-c", INTERRUPTED, launch.__file__]
    process = subprocess.run(arguments, start_new_session=True, capture_output=True, timeout=20, check=False)
    assert (process.returncode, process.stderr) == (0, b"")
    assert not there(int(process.stdout))


def test_a_parent_that_has_gone_already_has_no_children() -> None:
    """It may end before anybody could be told."""
    assert launched(sys.executable, "-c", "print(1)", parent=1).wait(20) == 1


@pytest.mark.parametrize("where", ["beside", "detached"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_a_family_ends_with_its_parent(how: signal.Signals, where: str, tmp_path: Path) -> None:
    """Also one that does not listen, or has a group of its own."""
    path = tmp_path / "pids"
    command = [sys.executable, "-c", PARENT, launch.__file__, sys.executable, "-c", FAMILY, str(path), where]
    parent = await asyncio.create_subprocess_exec(*command)
    pids = [int(pid) for pid in (await until(lambda: path.exists() and path.read_text(), "they run", 20)).split()]
    assert all(map(there, pids))
    parent.send_signal(how)
    await parent.wait()
    await until(lambda: not any(map(there, pids)), "all have ended", 20)


async def test_whoever_goes_on_starting_others_is_ended_with_them(tmp_path: Path) -> None:
    """It does not listen, and each that it starts has a group of its own."""
    path = tmp_path / "pids"
    process = launched(sys.executable, "-c", RESTLESS, str(path))
    await until(lambda: path.exists() and path.read_text(), "it runs", 20)
    process.terminate()
    assert await asyncio.to_thread(process.wait, 20) == 0
    assert not [pid for pid in map(int, path.read_text().split()) if there(pid)]
