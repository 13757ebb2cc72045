"""The topic `tool-control` as a runner reads it: all partitions, since records are few and short.

Reading begins as far back as any call could still be asked about or run, so that a record that came before its call, or
before this process, counts.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TypeAlias

from aiokafka import ConsumerRecord

from tokenmill.config import Kafka
from tokenmill.kafka.whole_topic import WholeTopic
from tokenmill.tools.control import Control, read_control

Take: TypeAlias = Callable[[Control, int], None]
"""Function that gets a record, and its time in milliseconds since the epoch: now at the latest, as a cancel by a clock
that is ahead would apply to calls that nobody has made yet."""


class ControlLog:
    """Passes each record to `take`, and calls `tell` after a batch."""

    def __init__(
        self, kafka: Kafka, topic: str, back_s: float, take: Take, tell: Callable[[], None] = lambda: None
    ) -> None:
        self._reader = WholeTopic(kafka, topic, back_s, self._took)
        self._take = take
        self._tell = tell
        self.read = asyncio.Event()
        """Set once everything that was on the topic at the start is read."""

    async def run(self) -> None:
        """Until cancelled. Raises `Unavailable` if Kafka does not answer, or the topic is not there."""
        await self._reader.start()
        try:
            ends = await self._reader.ends()
            while True:
                if await self._reader.poll():
                    self._tell()
                if not self.read.is_set() and self._reader.has_read(ends):
                    self.read.set()
        finally:
            await self._reader.stop()

    def _took(self, record: ConsumerRecord) -> None:
        if (control := read_control(record.value)) is not None:
            self._take(control, min(record.timestamp, int(time.time() * 1000)))
