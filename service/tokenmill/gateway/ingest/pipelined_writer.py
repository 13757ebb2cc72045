"""Writes the records of one request: several are under way at once, in order, up to a cap."""

from collections import deque
from typing import Protocol

from tokenmill.gateway.ingest.in_flight import InFlightRecord, WrittenAt
from tokenmill.gateway.problems import Refused
from tokenmill.limits import MIB
from tokenmill.records import Headers

WINDOW_BYTES = 1 * MIB
"""Bytes that one request may have under way: a round trip of a second at 8 Mbit/s, an eighth of a partition's cap."""


class RecordProducer(Protocol):
    """The part of the producer that a pipelined writer uses."""

    @property
    def acknowledged_s(self) -> float:
        """Seconds that recent records took to be acknowledged."""

    async def partition(self, topic: str, key: bytes) -> int:
        """Return the partition that records of a key go to."""

    async def put(
        self, topic: str, partition: int, key: bytes, value: bytes | None, headers: Headers = ()
    ) -> InFlightRecord:
        """Send one record."""


class PipelinedWriter:
    """Writes records of one key to one partition of a topic. Once it has raised `Refused`, it does so until `settled`.

    The partition is chosen once: one that is added meanwhile takes over no conversation in the middle of a message.
    """

    def __init__(self, producer: RecordProducer, topic: str, key: bytes, partition: int | None = None) -> None:
        """`partition` is that of the previous writer, to continue its message."""
        self._producer = producer
        self._topic = topic
        self._key = key
        self.partition = partition
        """Number of the partition; None until the first record."""
        self._under_way: deque[InFlightRecord] = deque()
        self._size = 0
        self.accepted = 0
        """Number of acknowledged records, which are the first ones that were put."""
        self.last: WrittenAt | None = None
        """The place of the last acknowledged record."""
        self.put_any = False
        """Whether any record was put."""
        self.failed = False
        """Whether a record is not in the log, or may not be."""

    async def put(self, value: bytes | None, headers: Headers) -> None:
        """Send one more record, as soon as there is room for it."""
        while self._under_way and (self._size > WINDOW_BYTES or self._under_way[0].settled):
            await self._acknowledge()
        if self.partition is None:
            self.partition = await self._producer.partition(self._topic, self._key)
        sent = await self._producer.put(self._topic, self.partition, self._key, value, headers)
        self.put_any = True
        self._under_way.append(sent)
        self._size += sent.size

    async def acknowledged(self) -> None:
        """Wait until every record is acknowledged."""
        while self._under_way:
            await self._acknowledge()

    async def settled(self) -> None:
        """Wait until the outcome of every record is known. Then more can be put, whatever the outcome."""
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
