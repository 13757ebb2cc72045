"""Processes of ours that have their imports already: to import what a worker needs takes a second of a processor.

A run of the tests starts hundreds of workers, gateways and fronts, and would spend a fifth of its time on that. So one
process imports what they need (`python -m tests.support.warm`) and is asked for each of them: it forks, and the copy
does what `python -m tokenmill` does, in the folder and with the variables that it was asked for.

1. What a process inherits of Python itself can't be given to a copy: where variables for Python have changed, or others
   than those of the tests are asked for, a process is started as usual. So are measurements of coverage.
2. The one that forks is the parent: it says how its children ended. The end itself is seen here.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import IO, Any

from tests.structure.tree import CHECKOUT

MESSAGE_BYTES = 1 << 20
"""Of a request: the variables of the environment are in it."""

READY_S = 200.0
"""For the imports of the process that forks, on a busy machine."""

IMPORTED = (
    "commands.worker",
    "commands.gateway",
    "commands.front",
    "commands.caller",
    "commands.tools",
    "worker.host",
    "gateway.host",
    "front.host",
    "tools.host",
)
"""Below `tokenmill`: what the commands that run for long need."""

UNKNOWN = 255
"""Exit code of a copy that has ended after the process that forked it: only a parent gets the true one."""

OURS = [sys.executable, "-m", "tokenmill"]
"""How a command begins that can be had from it."""


class Warm:
    """The process that forks, and the way to it. Threads may ask it side by side."""

    def __init__(self) -> None:
        """With the variables of now; it starts when it is needed first."""
        self._for_python = _for_python()
        self._asking = threading.Lock()
        self._way: socket.socket | None = None

    def launch(
        self, command: Sequence[str], log: IO[bytes], surroundings: Mapping[str, Any]
    ) -> "subprocess.Popen[bytes] | Copy":
        """Start a process that writes into `log`: a copy, if it can be one."""
        ours = list(command[: len(OURS)]) == OURS and surroundings.keys() == {"cwd"}
        if not ours or sys.platform != "linux" or _for_python() != self._for_python:
            return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, **surroundings)
        arguments, folder = command[len(OURS) :], str(surroundings["cwd"])
        asked = {"arguments": arguments, "folder": folder, "variables": dict(os.environ)}
        return Copy(self, command, self._answer(asked, log.fileno()))

    def ended(self, pid: int) -> int | None:
        """The exit code of a copy, as `Popen` has it; None while it runs."""
        status = self._answer({"pid": pid})
        return None if status is None else os.waitstatus_to_exitcode(status)

    def _answer(self, asked: Mapping[str, Any], *files: int) -> Any:
        with self._asking:
            self._way = self._way or self._started()
            try:
                socket.send_fds(self._way, [json.dumps(asked).encode()], files)
                if not (answer := self._way.recv(MESSAGE_BYTES)):
                    raise ConnectionResetError("the process that forks has ended")
                return json.loads(answer)
            except OSError:  # a late answer would be taken for that to the next request: another process is asked then
                self._way.close()
                self._way = None
                raise

    def _started(self) -> socket.socket:
        way, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        way.settimeout(READY_S)
        command = [sys.executable, "-m", __name__, str(theirs.fileno())]
        with theirs:
            process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, cwd=CHECKOUT)
        atexit.register(_close, way, process)
        return way


def _for_python() -> Mapping[str, str]:
    """The variables that Python, or a tool that measures it, reads when it starts."""
    return {name: value for name, value in os.environ.items() if name.startswith(("PYTHON", "COVERAGE"))}


def _close(way: socket.socket, process: "subprocess.Popen[bytes]") -> None:
    """End the process that forks, by closing the way to it. Copies go on."""
    way.close()
    process.wait(READY_S)


class Copy:
    """A process that was forked, as `subprocess.Popen` shows one."""

    def __init__(self, warm: Warm, command: Sequence[str], pid: int) -> None:
        self.args = command
        self.pid = pid
        self.returncode: int | None = None
        self._warm = warm
        self._end = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        if self.returncode is None and self._is_over(0):
            self.returncode = self._warm.ended(self.pid)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, when it has ended. Raises `subprocess.TimeoutExpired`."""
        if not self._is_over(timeout):
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        ended = self.poll()
        assert ended is not None
        return ended

    def _is_over(self, timeout: float | None) -> bool:
        """Whether it ends within this time, or at all."""
        ending = select.poll()
        ending.register(self._end, select.POLLIN)
        return bool(ending.poll(None if timeout is None else timeout * 1000))

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def __del__(self) -> None:
        os.close(self._end)


def serve(way: socket.socket) -> Sequence[str]:
    """Fork at each request; in a copy, return its command's arguments. Raises `SystemExit` when the way is closed."""
    for module in IMPORTED:
        import_module(f"tokenmill.{module}")
    import_module("tokenmill.plugins").load_plugins()
    _freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the tests, which end all of this
    ends: dict[int, int] = {}  # threads may ask side by side for the same one, of which the system says it once
    while True:
        message, files, _, _ = socket.recv_fds(way, MESSAGE_BYTES, 1)
        if not message:
            raise SystemExit
        asked = json.loads(message)
        if "pid" in asked:
            answer = ends[asked["pid"]] if asked["pid"] in ends else _end_of(asked["pid"], ends)
        elif (answer := os.fork()) == 0:
            way.close()
            _become(asked, files[0])
            return asked["arguments"]  # type: ignore[no-any-return] # of the request
        else:
            ends.pop(answer, None)  # numbers of processes come again
        for file in files:
            os.close(file)
        way.send(json.dumps(answer).encode())


def _end_of(pid: int, ends: dict[int, int]) -> int | None:
    """Return the status of a child that has ended, and note it; None while it runs. That of others is unknown."""
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return UNKNOWN << 8
    if ended:
        ends[pid] = status
    return ends.get(pid)


def _freeze() -> None:
    """Exclude what is imported from garbage collection, as the command does."""
    import gc  # noqa: PLC0415 -- for this process alone

    gc.collect()
    gc.freeze()


def _become(asked: Mapping[str, Any], log: int) -> None:
    """Take the folder, variables, output and signals of a process that was just started."""
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["variables"])
    sys.argv[1:] = asked["arguments"]
    signal.signal(signal.SIGINT, signal.default_int_handler)


if __name__ == "__main__":
    given = serve(socket.socket(fileno=int(sys.argv[1])))
    sys.exit(import_module("tokenmill.__main__").main(given))
