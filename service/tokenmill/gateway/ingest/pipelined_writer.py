"""Writes the records of one request: several are under way at once, in order, and no more than one may have."""

from collections import deque
from typing import Protocol

from tokenmill.gateway.ingest.in_flight import InFlightRecord, WrittenAt
from tokenmill.gateway.problems import Refused
from tokenmill.limits import MIB
from tokenmill.records import Headers

WINDOW_BYTES = 1 * MIB
"""What one request may have under way: a round trip of a second at 8 Mbit/s, and an eighth of what a partition may."""


class RecordProducer(Protocol):
    """What a pipelined writer needs of the producer."""

    @property
    def acknowledged_s(self) -> float:
        """How long records take to be acknowledged, of late."""

    async def partition(self, topic: str, key: bytes) -> int:
        """The partition that records of a key go to."""

    async def put(
        self, topic: str, partition: int, key: bytes, value: bytes | None, headers: Headers = ()
    ) -> InFlightRecord:
        """Let one record go."""


class PipelinedWriter:
    """Writes records of one key to one partition of a topic. Once it raises `Refused`, it does until `settled`.

    The partition is chosen once: one that is added meanwhile takes over no conversation in the middle of a message.
    """

    def __init__(self, producer: RecordProducer, topic: str, key: bytes, partition: int | None = None) -> None:
        """`partition`: that of the one before, for who goes on with a message."""
        self._producer = producer
        self._topic = topic
        self._key = key
        self.partition = partition
        """None until the first record."""
        self._under_way: deque[InFlightRecord] = deque()
        self._size = 0
        self.accepted = 0
        """Records that are acknowledged: the first ones that were put."""
        self.last: WrittenAt | None = None
        """Where the last of those is."""
        self.put_any = False
        """Whether any record was put."""
        self.failed = False
        """Whether it is not known of a record where it is, or that it is nowhere."""

    async def put(self, value: bytes | None, headers: Headers) -> None:
        """Let one more record go, as soon as there is room for it."""
        while self._under_way and (self._size > WINDOW_BYTES or self._under_way[0].settled):
            await self._acknowledge()
        if self.partition is None:
            self.partition = await self._producer.partition(self._topic, self._key)
        sent = await self._producer.put(self._topic, self.partition, self._key, value, headers)
        self.put_any = True
        self._under_way.append(sent)
        self._size += sent.size

    async def acknowledged(self) -> None:
        """Wait until every record is."""
        while self._under_way:
            await self._acknowledge()

    async def settled(self) -> None:
        """Wait until it is known of every record what became of it. Then more can be put, whatever it was."""
        try:
            await self.acknowledged()
        except Refused:
            self._under_way.clear()
            self._size = 0

    async def _acknowledge(self) -> None:
        try:
            self.last = await self._under_way[0].placed()
        except Refused:
            self.failed = True
            raise
        self._size -= self._under_way.popleft().size
        self.accepted += 1
