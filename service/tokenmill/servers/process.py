"""A server as a child process: started on a free port, watched until it is ready, stopped by its own pid."""

import contextlib
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from tokenmill.errors import MissingServer

POLL_S = 0.05
"""Seconds between two looks at a starting server: small against the time that it takes."""

STOP_S = 15.0
"""Seconds for a graceful stop; a broker with little data needs one or two."""

ATTEMPTS = 3
"""Tries to start: another process may take a free port before the server binds it, but not three times in a row."""

ANSWER_S = 2.0
"""Seconds for one answer of a process's own web server."""

LOG_CHARS = 2_000
"""Characters from the end of a log that an error quotes: a Java exception with its cause."""


def answer_of(url: str) -> str | None:
    """Return the answer of one of our web servers; None if it does not answer, or with an error."""
    try:
        with urllib.request.urlopen(url, timeout=ANSWER_S) as answer:  # noqa: S310 -- always http on this machine
            return str(answer.read().decode())
    except (urllib.error.URLError, OSError):
        return None


def free_port() -> int:
    """Return a TCP port on which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server(ABC):
    """A server as a child process. `start` after `stop` or `kill` reuses the port and data."""

    name: str
    start_s: float = 30.0
    """Seconds after which a starting server is given up."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> Sequence[str]:
        """Prepare the folder for `port` and return the command line."""

    def surroundings(self) -> dict[str, Any]:
        """Return the working folder and variables: arguments of `Popen`, once there is a command."""
        return {"cwd": self.folder}

    def launch(self, command: Sequence[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start the process, which writes into `log`."""
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, **self.surroundings())

    @abstractmethod
    def ready(self) -> bool:
        """Whether the process that we started answers, and not another on the same port."""

    @property
    def pid(self) -> int:
        """Return the process id of the running server."""
        return self.process.pid

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """Return the process that was started last."""
        if self._process is None:
            raise RuntimeError(f"{self.name} is not running")
        return self._process

    @property
    def alive(self) -> bool:
        """Whether the started process still runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> Path:
        """Return the file with this run's output."""
        return self.folder / "server.log"

    def start(self) -> None:
        """Start and wait until it is ready. Raises `MissingServer` with the end of its log if it is not."""
        self.folder.mkdir(parents=True, exist_ok=True)
        attempts = 1 if self.port else ATTEMPTS
        for attempt in range(1, attempts + 1):
            self.port = self.port if attempts == 1 else free_port()
            if self._run():
                return
            self.kill()
            if attempt == attempts:
                raise MissingServer(f"{self.name} does not start: {self.log_end()}")

    def _run(self) -> bool:
        with self.log.open("wb") as log:
            self._process = self.launch(self.command(), log)
        deadline = time.monotonic() + self.start_s
        while time.monotonic() < deadline and self._process.poll() is None:
            if self.ready():
                return True
            time.sleep(POLL_S)
        return False

    def log_end(self) -> str:
        """Return the last lines of the log: why it died."""
        return self.log.read_text(errors="replace")[-LOG_CHARS:].strip() or "it printed nothing"

    def stop(self) -> None:
        """End it gracefully; kill it if that takes too long."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it immediately, as a crash does."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def freeze(self) -> None:
        """Stop answering without closing a connection, as a stalled machine does.

        A busy process stops only some time after the signal, thread by thread: until then it may answer.
        """
        self._signal(signal.SIGSTOP)
        if self._process is not None and hasattr(os, "waitid"):  # macOS has it from Python 3.13 on
            with contextlib.suppress(ChildProcessError):  # it has ended
                os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def thaw(self) -> None:
        """Continue after `freeze`."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


def start_all(running: ExitStack, servers: Sequence[Server]) -> None:
    """Start all together, as each takes seconds. With `running` the last one is stopped first."""
    for server in servers:
        running.callback(server.stop)
    with ThreadPoolExecutor(len(servers)) as pool:
        list(pool.map(Server.start, servers))


def deaths(servers: Sequence[Server]) -> str:
    """Return the last output of the servers that have ended by themselves; empty if all run."""
    return "; ".join(
        f"{server.name} has ended with {server.process.returncode}: {server.log_end()}"
        for server in servers
        if not server.alive
    )
