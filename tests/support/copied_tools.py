"""The process that `warm_tools` has copied: it imports the server of tools once, and forks at each request."""

import atexit
import marshal
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from uuid import uuid4

from tests.structure.tree import CHECKOUT
from tests.support.warm_tools import MESSAGE_BYTES, PIPES

END_S = 60.0


@cache
def address() -> str:
    """Start the process, which runs until the tests end, and return its address."""
    name = f"tokenmill-tools-{uuid4().hex}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(f"\0{name}")
        listening.listen(64)
        command = [sys.executable, "-m", __name__, str(listening.fileno())]
        process = subprocess.Popen(command, pass_fds=[listening.fileno()], stdin=subprocess.PIPE, cwd=CHECKOUT)
    atexit.register(process.communicate, timeout=END_S)
    return name


class Forker:
    """The process that forks. Its standard input ends with the process that started it."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._ways: dict[int, tuple[socket.socket, int]] = {}
        """For each copy, by its process as a file: the connection to the program that requested it, and its number."""

    def serve(self) -> None:
        """Fork at each request, and return in a copy. Raises `SystemExit` when the tests have ended."""
        while True:
            ways = {way.fileno(): pid for way, pid in self._ways.values()}
            ready, _, _ = select.select([0, self._listening.fileno(), *ways, *self._ways], [], [])
            if 0 in ready:
                for pid in ways.values():  # nothing would report their ends
                    os.kill(pid, signal.SIGKILL)
                raise SystemExit
            for file in ready:
                if file in self._ways:
                    self._over(file)
                elif file in ways:  # nothing comes from it: the program has ended
                    os.kill(ways[file], signal.SIGKILL)
                elif self._forked():
                    return

    def _over(self, file: int) -> None:
        way, pid = self._ways.pop(file)
        os.close(file)
        with way, suppress(OSError):
            way.send(b"%d" % os.waitpid(pid, 0)[1])

    def _forked(self) -> bool:
        """Fork for a program that has connected. Return whether this is the copy."""
        way, _ = self._listening.accept()
        message, files, _, _ = socket.recv_fds(way, MESSAGE_BYTES, len(PIPES))
        if not message:
            way.close()
            return False
        if pid := os.fork():
            for file in files:
                os.close(file)
            self._ways[os.pidfd_open(pid)] = way, pid
            return False
        for other in (way, self._listening, *(other for other, _ in self._ways.values())):
            other.close()
        for file in self._ways:
            os.close(file)
        _become(message, files)
        return True


def _become(message: bytes, files: Sequence[int]) -> None:
    """Take what a server that was just started has: its own pipes, folder, variables and session."""
    for file, pipe in zip(files, PIPES, strict=True):
        os.dup2(file, pipe)
        os.close(file)
    folder, variables = marshal.loads(message)  # noqa: S302 -- of `warm_tools`
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    signal.signal(signal.SIGINT, signal.default_int_handler)


if __name__ == "__main__":
    from tests.support.mcp_server import SERVER

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the tests, which end all of this
    Forker(socket.socket(fileno=int(sys.argv[1]))).serve()
    SERVER.run("stdio")
