"""The server of tools as a copy of one that has its imports: those of the protocol's SDK take a second of a processor.

1. `warm` starts a process of this module, for as long as the tests run, and returns the command of a server.
2. The command is this file, run as a program: it hands its pipes, folder and variables on, and waits. The process
   forks, and the copy is the server.
3. Both end together: the program with the copy's exit code, the copy as soon as the program is gone.

Elsewhere than on Linux the command is that of the server itself.
"""

import _socket  # what is around it takes as long to import as all the rest
import marshal
import os
import sys

MESSAGE_BYTES = 1 << 20
"""Longest request: the variables of the environment are in it."""

ITSELF = ("-m", "tests.support.mcp_server")

PIPES = (0, 1, 2)

KILLED = 9
"""Status of a copy that ended with the tests."""


def warm() -> tuple[str, ...]:
    """Return the arguments of Python for a server that is a copy. The first call starts the process that is copied."""
    if sys.platform != "linux":
        return ITSELF
    return ("-I", "-S", __file__, _started())


def _started() -> str:
    from tests.support.copied_tools import address  # noqa: PLC0415 -- not for the program, which imports little

    return address()


def ask(address: str) -> int:
    """Have a copy do the work. Return its exit status, as `waitpid` does."""
    way = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    way.connect(f"\0{address}")
    files = b"".join(pipe.to_bytes(4, sys.byteorder) for pipe in PIPES)
    inherited = marshal.dumps((os.getcwd(), dict(os.environ)))  # noqa: PTH109 -- pathlib is slow to import
    way.sendmsg([inherited], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
    nothing = os.open(os.devnull, os.O_RDWR)
    for pipe in PIPES:  # the copy's alone: their readers see its end
        os.dup2(nothing, pipe)
    return int(way.recv(MESSAGE_BYTES) or KILLED)


def _end_as(status: int) -> None:
    if os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    _end_as(ask(sys.argv[1]))
