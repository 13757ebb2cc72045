"""One client at the head of a conversation: takes frames from its channel, until its stream is over for some reason."""

import asyncio
from collections.abc import Sequence
from typing import Literal, TypeAlias

from tokenmill.gateway.outbox import Outbox
from tokenmill.gateway.view import Frame

Outcome: TypeAlias = Literal["finished", "back", "slow", "closed", "drained", "expired", "lost"]
"""Why a client is no longer at the head: its answer is over; it has to read again from earlier; it does not keep up; it
left; the process ends; its rights did; the log is no longer the one it was."""


class Stream:
    """A client of a channel."""

    def __init__(self, outbox: Outbox, place: tuple[int, int], *, until_finish: bool) -> None:
        self.outbox = outbox
        self.place = place
        """Behind this frame it goes on."""
        self._until_finish = until_finish
        self.opened = -1
        """With the outcome `back`: from when on has to be read."""
        self.over: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    def tell(self, frames: Sequence[Frame], data: bytes) -> None:
        """New frames: the first of a message and the last are written at once, others with the next flush."""
        if self.over.done():
            return
        last = frames[-1]
        self.place = last.place
        self.outbox.put(data)
        if frames[0].first or last.last:
            self.outbox.flush(asyncio.get_running_loop().time())
        if last.last and self._until_finish:
            self.end("finished")

    def send_back(self, opened: int) -> None:
        """Read again from this time on."""
        self.opened = opened
        self.end("back")

    def lose(self) -> None:
        """What it reads is another log now."""
        self.end("lost")

    def end(self, outcome: Outcome) -> None:
        """It is over; the first reason counts."""
        if not self.over.done():
            self.over.set_result(outcome)
