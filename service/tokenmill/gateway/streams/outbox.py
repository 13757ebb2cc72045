"""The unwritten bytes of one client: collected for a moment, bounded, and never waited for.

Frames that come within a moment go out in one write, because the system call costs more than the frame. A client whose
socket takes nothing keeps them here, up to a cap and for some seconds; then it is slow, and is closed rather than
delayed or given an answer with holes.
"""

from collections.abc import Callable
from typing import Protocol


class Pipe(Protocol):
    """Writes to one connection of any transport."""

    async def send(self, data: bytes) -> None:
        """Write, and wait until the client takes it. Raises `ConnectionError` and `TimeoutError`."""

    def write(self, data: bytes) -> None:
        """Hand bytes to the connection immediately."""

    @property
    def buffered(self) -> int:
        """Bytes that the connection was handed and could not pass on to the kernel."""


PIECE_BYTES = 64 * 1024
"""Bytes that are handed to a connection at once: more than what comes in a moment, less than a kernel's buffer."""


class Outbox:
    """A bounded buffer of one client: bytes that its socket has not taken yet."""

    __slots__ = (
        "_burst",
        "_cap",
        "_dirty",
        "_pending",
        "_pipe",
        "_size",
        "_stall_s",
        "_stuck_since",
        "slow",
        "written_at",
    )

    def __init__(self, pipe: Pipe, cap: int, stall_s: float, dirty: Callable[["Outbox"], None]) -> None:
        self._pipe = pipe
        self._cap = cap
        self._stall_s = stall_s
        self._dirty = dirty
        self._pending: list[bytes] = []
        self._size = 0
        self._burst = 0
        """Bytes left over when the socket last took something: they came at once, because our reader was behind or a
        frame is large. The cap counts only what comes while the socket takes nothing."""
        self._stuck_since: float | None = None
        self.slow = False
        """Whether it has exceeded its cap or its time: it takes no more bytes."""
        self.written_at = 0.0
        """Time of the last write, in the loop's seconds; 0: none yet."""

    @property
    def held(self) -> int:
        """Bytes that the client has not taken yet."""
        return self._size + self._pipe.buffered

    def put(self, data: bytes) -> None:
        """Add bytes, to be written with the next flush; a slow client gets no more."""
        if self.slow:
            return
        if not self._pending:
            self._dirty(self)
        self._pending.append(data)
        self._size += len(data)

    def piece(self) -> bytes:
        """Take the next unwritten piece, for a caller that waits for it; empty if nothing is left.

        Collected bytes are shared by all clients of a channel; a write copies them, and so is made in pieces.
        """
        count, size = 0, 0
        while count < len(self._pending) and (not size or size + len(self._pending[count]) <= PIECE_BYTES):
            size += len(self._pending[count])
            count += 1
        data = b"".join(self._pending[:count])
        del self._pending[:count]
        self._size -= size
        return data

    def flush(self, now: float) -> bool:
        """Write collected bytes as long as the socket takes them; return False if some are left for another flush."""
        if self._pipe.buffered:
            return self._stuck(now)
        self._stuck_since = None
        while self._pending and not self._pipe.buffered:
            if piece := self.piece():
                self._pipe.write(piece)
            self.written_at = now  # also if nothing was: where heartbeats have no bytes, something else keeps it alive
        self._burst = self.held
        return not self._pending

    def _stuck(self, now: float) -> bool:
        if self._stuck_since is None:
            self._stuck_since = now
        if self.held > self._cap + self._burst or now - self._stuck_since > self._stall_s:
            self.slow = True
            self._pending, self._size = [], 0
        return self.slow
