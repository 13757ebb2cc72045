"""Clients in a process of their own: it gets its job as a line of JSON, reports words, and at the end its results."""

import subprocess
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec
import uvloop

from tokenmill.errors import FatalError
from tokenmill.servers.process import LOG_CHARS

FAILED = "the clients failed"

Job = TypeVar("Job", bound=msgspec.Struct)
Results = TypeVar("Results", bound=msgspec.Struct)


def do(kind: type[Job], work: Callable[[Job], Coroutine[Any, Any, msgspec.Struct]]) -> None:
    """Do the job on standard input, and print its results: the main program of the process."""
    job = msgspec.json.decode(sys.stdin.readline(), type=kind)
    print(msgspec.json.encode(uvloop.run(work(job))).decode(), flush=True)


class ClientProcess:
    """The process, from outside, inside its block. Its methods raise `FatalError` if it has failed."""

    def __init__(self, module: str, log: Path, job: msgspec.Struct) -> None:
        """`module` calls `do`; `log` is the file for its standard error."""
        self._module = module
        self._log = log
        self._job = job

    def __enter__(self) -> Self:
        command, pipe = [sys.executable, "-m", self._module], subprocess.PIPE
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log)
        try:
            self.tell(msgspec.json.encode(self._job))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(BrokenPipeError), self._process:  # waits for it, and closes the pipes, where a line may be left
            self._process.kill()

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    def tell(self, line: bytes = b"") -> None:
        """Write a line to it."""
        pipe: Any = self._process.stdin
        try:
            pipe.write(line + b"\n")
            pipe.flush()
        except BrokenPipeError as problem:
            raise self._failure(FAILED) from problem

    def expect(self, word: str, otherwise: str = FAILED) -> None:
        """Wait for a word; `otherwise` is what it means if that does not come."""
        if self._line() != word.encode():
            raise self._failure(otherwise)

    def results(self, kind: type[Results]) -> Results:
        """Return its results."""
        try:
            return msgspec.json.decode(self._line(), type=kind)
        except msgspec.DecodeError as problem:
            raise self._failure(FAILED) from problem

    def _line(self) -> bytes:
        """Return the next line; empty if the process has ended."""
        pipe: Any = self._process.stdout
        line: bytes = pipe.readline().strip()
        return line

    def _failure(self, sentence: str) -> FatalError:
        return FatalError(f"{sentence}: {self._log.read_text()[-LOG_CHARS:]}")
