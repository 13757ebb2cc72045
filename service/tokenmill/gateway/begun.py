"""A reading that has found where it begins, before anything is answered: what is seen decides the answer."""

import time
from collections.abc import Sequence
from contextlib import aclosing
from typing import NamedTuple

from tokenmill.gateway.asked import Asked
from tokenmill.gateway.reading import Reading
from tokenmill.gateway.view import Frame


class Begun(NamedTuple):
    """A reading and its next frames."""

    reading: Reading
    came_at: float
    """When it was asked for, in monotonic seconds."""
    peeked: Sequence[Frame] | None = ()
    """None: there are none up to the log's head. Empty: none have come up yet, and the head is further on."""

    def nothing_comes(self, asked: Asked) -> bool:
        """Whether the client has all there will be: it came back behind the end of what it asked for."""
        return self.peeked is None and asked.until_finish and self.reading.has_all(asked.message)


async def peek(reading: Reading, message: bytes, seconds: float) -> Sequence[Frame] | None:
    """The next frames of a message, or of any if it is empty; None if there are none up to the head.

    After so many seconds it says whatever it has, which may be nothing.
    """
    until = time.monotonic() + seconds
    async with aclosing(reading.frames()) as batches:
        async for frames in batches:
            wanted = [frame for frame in frames if message in (b"", frame.message)]
            if wanted or time.monotonic() > until:
                return wanted
    return None
