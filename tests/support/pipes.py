"""A connection in memory, whose other side reads as much as the test lets it."""

import asyncio

from tokenmill.gateway.streams.outbox import Outbox
from tokenmill.gateway.streams.stream import Stream


class FakePipe:
    """Takes `room` bytes as the kernel would, and keeps the rest as a transport does."""

    def __init__(self, room: int = 1 << 30) -> None:
        self.room = room
        self.taken = b""
        self._kept = b""
        self.writes = 0
        self.asked = 0

    async def send(self, data: bytes) -> None:
        """Write; nobody is waited for."""
        self.write(data)

    def write(self, data: bytes) -> None:
        """As much as there is room for goes on."""
        self.writes += 1
        self._kept += data
        self.read(0)

    def read(self, room: int) -> None:
        """The other side makes room."""
        self.room += room
        passed, self._kept = self._kept[: self.room], self._kept[self.room :]
        self.taken += passed
        self.room -= len(passed)

    @property
    def buffered(self) -> int:
        """What is kept."""
        self.asked += 1
        return len(self._kept)


def stream_of(pipe: FakePipe, cap: int = 1_000, stall_s: float = 10, *, until_finish: bool = False) -> Stream:
    """A client with this connection, behind everything that comes."""
    return Stream(Outbox(pipe, cap, stall_s, lambda _: None), (-1, 0), until_finish=until_finish)


async def soon() -> None:
    """Let every task that can go on do so."""
    for _ in range(5):
        await asyncio.sleep(0)
