"""One client at the head of a conversation: takes frames from its channel until its stream is over for some reason."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tokenmill.gateway.event_log.view import Frame
from tokenmill.gateway.streams.outbox import Outbox
from tokenmill.observe.gateway_table import Outcome

Leaves: TypeAlias = Callable[[], Outcome | None]
"""Returns why a client may not stay, or None. Called every second; with thousands of clients every few seconds."""


def stays() -> None:
    """Let a client stay for ever."""


class MessageFilter:
    """The messages of the conversation that a client is shown: all, one, or the first that comes."""

    def __init__(self, message: bytes = b"", *, single: bool = False) -> None:
        self.message = message
        """The only message that is shown; empty: all."""
        self._single = single

    def takes(self, message: bytes) -> bool:
        """Whether frames of this message are shown. A filter for any single message keeps the first that it gets."""
        if self._single and not self.message:
            self.message = message
        return self.message in (b"", message)

    def ends_with(self, frame: Frame) -> bool:
        """Whether nothing that is shown continues after this frame."""
        return frame.ends if self.message else frame.last


class Stream:
    """One client of a channel, at the head: takes its frames into an outbox until it is over for some reason."""

    __slots__ = (
        "_until_finish",
        "_wanted",
        "heartbeat",
        "last",
        "leaves",
        "missing",
        "opened",
        "outbox",
        "over",
        "place",
    )

    def __init__(
        self,
        outbox: Outbox,
        place: tuple[int, int],
        wanted: MessageFilter | None = None,
        *,
        until_finish: bool,
        leaves: Leaves = stays,
        heartbeat: bytes = b"",
    ) -> None:
        self.outbox = outbox
        self.heartbeat = heartbeat
        """Bytes that it is sent after a silence."""
        self.place = place
        """The place of the last frame that it took: it continues after it."""
        self.last: Frame | None = None
        """The last frame that it took."""
        self.leaves = leaves
        self._until_finish = until_finish
        self._wanted = wanted or MessageFilter()
        self.opened = -1
        """With the outcome `back`: the time from which it has to read again."""
        self.missing = b""
        """With the outcome `back`: the message that lacks its beginning; empty if none does."""
        self.over: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    def tell(self, frames: Sequence[Frame], data: bytes) -> None:
        """Take new frames: the first of a message and its last are written immediately, others with the next flush."""
        last = frames[-1]
        if self.over.done() or last.place <= self.place:
            return  # it came back from a gateway whose reader was ahead of ours
        self.place, self.last = last.place, last
        if not self._wanted.takes(last.message):
            return
        self.outbox.put(data)
        if frames[0].first or last.ends:
            self.outbox.flush(asyncio.get_running_loop().time())
        if self.outbox.slow:
            return  # the flusher ends it
        if self._until_finish and self._wanted.ends_with(last):
            self.end("finished")

    def send_back(self, opened: int, message: bytes) -> None:
        """Read again from this time on; this message lacks its beginning, or none does."""
        self.opened, self.missing = opened, message
        self.end("back")

    def lose(self) -> None:
        """End it, as the log has been replaced."""
        self.end("lost")

    def send_home(self) -> None:
        """End it, as the process ends."""
        self.end("drained")

    def end(self, outcome: Outcome) -> None:
        """End it; the first reason counts."""
        if not self.over.done():
            self.over.set_result(outcome)
