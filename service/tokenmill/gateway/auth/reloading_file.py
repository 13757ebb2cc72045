"""A file that is read again when it changes.

1. A call for the value looks at the file at most once a second, which costs some microseconds.
2. New content that can't be used changes nothing: what was read before stays, and one log line gives the reason. What
   can't be read is tried again with each look: a process that has no file left now may have one later.
3. A file that is replaced (Kubernetes swaps the folder of a mounted secret) is noticed by size, time and inode.
"""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, TypeAlias, TypeVar

from tokenmill.errors import ConfigError

log = logging.getLogger(__name__)

T = TypeVar("T")

LOOK_S: Final = 1.0
"""Seconds that a change may go unnoticed: a key that is taken out of a file opens nothing a second later."""

_Identity: TypeAlias = tuple[int, int, int] | None


class ReloadingFile(Generic[T]):
    """The result of `read` on a file's content; `read` raises `ValueError`, whose text does not quote the content.

    Raises `ConfigError` if the file can't be used now. `setting` is the key that names it. If one `beside` it changes,
    it is read again, too.
    """

    def __init__(
        self,
        path: Path,
        setting: str,
        read: Callable[[bytes], T],
        now: Callable[[], float] = time.monotonic,
        *beside: Path,
    ) -> None:
        self._path = path
        self._watched = path, *beside
        self._setting = setting
        self._read = read
        self._now = now
        self._seen = self._look()
        self._reported: tuple[list[_Identity], str] | None = None
        self._next_look = now() + LOOK_S
        try:
            self._value = self._load()
        except (OSError, ValueError) as problem:
            raise ConfigError([f"{setting}: {path} {_sentence(problem)}"]) from None

    def value(self) -> T:
        """Return the value of the file now, or the last usable one."""
        if self._now() >= self._next_look:
            self._next_look = self._now() + LOOK_S
            self._renew()
        return self._value

    def _renew(self) -> None:
        seen = self._look()
        if seen == self._seen:
            return
        try:
            self._value = self._load()
        except (OSError, ValueError) as problem:
            self._seen = [] if isinstance(problem, OSError) else seen
            self._report(seen, _sentence(problem))
        else:
            self._seen, self._reported = seen, None
            log.info("%s: %s has changed and was read again", self._setting, self._path)

    def _report(self, seen: list[_Identity], reason: str) -> None:
        if self._reported != (seen, reason):
            self._reported = seen, reason
            log.error("%s: the previous content stays in use, because %s %s", self._setting, self._path, reason)

    def _look(self) -> list[_Identity]:
        """Return what identifies the content. It is taken before the file is read, so no change is missed."""
        return [_identity(path) for path in self._watched]

    def _load(self) -> T:
        return self._read(self._path.read_bytes())


def _identity(path: Path) -> _Identity:
    try:
        state = path.stat()
    except (OSError, ValueError):
        return None
    return state.st_mtime_ns, state.st_size, state.st_ino


def _sentence(problem: OSError | ValueError) -> str:
    return f"can't be read: {problem.strerror}" if isinstance(problem, OSError) else str(problem)
