"""A stream of conversations that goes on until it is told that it is enough."""

import asyncio
from collections.abc import Iterator
from typing import Any

from tests.support.conversations import interleaved
from tests.support.stage import Stage, until

CONVERSATIONS = 300
BATCH = 40
PAUSE_S = 0.1


class Feeder:
    """Sends the conversations bit by bit, round after round with new names, until it is told that it is enough."""

    def __init__(self, stage: Stage, conversations: int = CONVERSATIONS) -> None:
        self._stage = stage
        self._conversations = conversations
        self.sent = 0
        self.enough = asyncio.Event()

    async def progress(self) -> None:
        """Wait until some more was sent."""
        goal = self.sent + 5 * BATCH
        await until(lambda: self.sent > goal, "the stream goes on")

    async def run(self) -> None:
        """At least all conversations; more of them while workers are still to be killed."""
        seed = 1
        while seed == 1 or not self.enough.is_set():
            chunks = interleaved(self._conversations, seed)
            while batch := _take(chunks):
                await self._stage.send_all(batch)
                self.sent += len(batch)
                await asyncio.sleep(0 if self.enough.is_set() else PAUSE_S)
            seed += 1


def _take(chunks: Iterator[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [chunk for _, chunk in zip(range(BATCH), chunks, strict=False)]
