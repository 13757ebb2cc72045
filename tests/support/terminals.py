"""The program as a person sees it: on a terminal of its own."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from types import TracebackType
from typing import IO, Self

LINES, COLUMNS = 24, 100

DEADLINE_S = 60.0


class OnTerminal:
    """`tokenmill` with these arguments, its stderr on a terminal, and so its stdout unless it is given a file.

    What it draws can be waited for. It is ended with the block.
    """

    def __init__(self, *arguments: str, stdout: IO[bytes] | None = None, **environ: str) -> None:
        self.drawn = b""
        """All that came, as it came."""
        self._master, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tokenmill", *arguments],
            stdin=terminal,
            stdout=stdout or terminal,
            stderr=terminal,
            env=os.environ | {"TERM": "xterm", "LINES": str(LINES), "COLUMNS": str(COLUMNS)} | environ,
        )
        os.close(terminal)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)

    def until(self, text: str) -> None:
        """Until this has been drawn."""
        give_up = time.monotonic() + DEADLINE_S
        while text.encode() not in self.drawn:
            assert self._more(give_up), f"{text!r} was never drawn, but {self.drawn[-2_000:]!r}"

    def end(self) -> int:
        """Until it has ended; its exit code."""
        give_up = time.monotonic() + DEADLINE_S
        while self._more(give_up):
            pass
        return self.process.wait(DEADLINE_S)

    def _more(self, give_up: float) -> bool:
        """Whether more came. Nothing does at the end, when no process has the terminal open any more."""
        ready, _, _ = select.select([self._master], [], [], max(0.0, give_up - time.monotonic()))
        assert ready, f"nothing more is drawn behind {self.drawn[-2_000:]!r}"
        try:
            more = os.read(self._master, 65_536)
        except OSError:  # how Linux tells it
            return False
        self.drawn += more
        return bool(more)
