"""What lies before the window: read from the log by a small number of consumers that clients take turns with.

Names take turns, too: a client may read a thousand conversations at once, and another one waits for one of them.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from math import inf
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition

from tokenmill.config import Kafka
from tokenmill.errors import Unavailable
from tokenmill.gateway.event_log.entry import Entry, entries
from tokenmill.gateway.event_log.unresponsive import UnresponsivePartitions
from tokenmill.gateway.fairness import FairSemaphore
from tokenmill.kafka.aiokafka_inside import reading_tasks
from tokenmill.kafka.calls import deadline, started, stopped
from tokenmill.kafka.client_tasks import ended, must_read
from tokenmill.kafka.clients import make_reader

T = TypeVar("T")

POLL_MS = 200
"""How long one poll waits for records: there are some, or the reader is at the end."""

TURN_S = 0.2
"""For how long somebody may scan before it is another one's turn."""

START_S = 30.0

ANSWER_S = 5.0
"""How long an answer about a partition, or the record before an offset, is waited for: it is there, and a connection to
its broker may have to be made. A reader waits with it."""

FETCH_WAIT_MS = 10
"""The next one's fetch waits until the broker has answered this one's, which may be at the log's end."""

LAST = 50
"""Offsets at a log's end, or before a place, that are looked at for their times; ends of transactions are among
them."""

BATCH = 5_000
"""Records of one poll: 50 ms of the loop at most, in which nobody else is served."""


class DeletedByRetention(Unavailable):
    """Retention has deleted the place to read from: the log begins behind it."""

    def __init__(self, first: int) -> None:
        super().__init__(f"the log begins at offset {first} now")
        self.first = first


class LogReaders:
    """A pool of consumers, each of which reads a partition from any offset on for one client at a time.

    Raises `Unavailable` when Kafka does not answer.
    """

    def __init__(self, kafka: Kafka, topic: str, readers: int) -> None:
        self._kafka = kafka
        self._topic = topic
        self._turns = FairSemaphore(readers)
        self._unresponsive = UnresponsivePartitions(max(1, readers // 2))
        self._free: list[AIOKafkaConsumer] = []
        self._unfinished: set[asyncio.Task[Any]] = set()
        self.in_use = 0
        """Consumers that read for somebody."""

    def of(self, name: str) -> "ClientLogReader":
        """For whoever has this name."""
        return ClientLogReader(self, name)

    async def close(self) -> None:
        """End all consumers, when nobody reads any more."""
        await asyncio.gather(*self._unfinished, return_exceptions=True)
        while self._free:
            await stopped(self._free.pop())

    @asynccontextmanager
    async def _reader(self, place: TopicPartition, name: str) -> AsyncIterator[AIOKafkaConsumer]:
        async with self._turn(name) as begun, self._consumer(place, begun) as consumer:
            yield consumer

    @asynccontextmanager
    async def _asking(self, place: TopicPartition, name: str) -> AsyncIterator[AIOKafkaConsumer]:
        """The same for questions that only an answer ends."""
        async with self._unresponsive.asked(place.partition) as asked, self._turn(name) as begun:
            self._unresponsive.check(place.partition)  # others have waited in vain, while this one waited for its turn
            async with self._consumer(place, begun) as consumer:
                with asked:
                    yield consumer

    @asynccontextmanager
    async def _consumer(self, place: TopicPartition, begun: list[asyncio.Task[Any]]) -> AsyncIterator[AIOKafkaConsumer]:
        for deaf in [each for each in self._free if any(ended(reading_tasks(each).items()))]:
            self._free.remove(deaf)
            begun.append(self._beside(stopped(deaf)))
        consumer = self._at(place) if self._free else await self._connected(begun)
        try:
            yield consumer
            must_read(consumer, Unavailable)
        except BaseException:
            begun.append(self._beside(stopped(consumer)))  # whatever state it is in
            raise
        consumer.pause(*consumer.assignment())
        self._free.append(consumer)

    def _at(self, place: TopicPartition) -> AIOKafkaConsumer:
        """A free one: the one that read there last, if there is one, as it need not look up where that is."""
        found = next((each for each in self._free if place in each.assignment()), self._free[0])
        self._free.remove(found)
        return found

    async def _connected(self, begun: list[asyncio.Task[Any]]) -> AIOKafkaConsumer:
        connecting = self._beside(started(self._client, "connect a reader", START_S))
        begun.append(connecting)
        try:
            return await asyncio.shield(connecting)
        except asyncio.CancelledError:
            connecting.add_done_callback(self._keep)  # the client left, and the next one has it
            raise

    def _keep(self, connecting: "asyncio.Task[AIOKafkaConsumer]") -> None:
        if not connecting.cancelled() and connecting.exception() is None:
            self._free.append(connecting.result())

    def _beside(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Work that goes on when the client whose turn it is leaves: cut off, it would leave a connection behind."""
        task = asyncio.create_task(work)
        self._unfinished.add(task)
        task.add_done_callback(self._unfinished.discard)
        return task

    @asynccontextmanager
    async def _turn(self, name: str) -> AsyncIterator[list[asyncio.Task[Any]]]:
        """One of the places for readers, until what was begun in it has ended, too: clients may come and go at will."""
        await self._turns.acquire(name)
        self.in_use += 1
        begun = list[asyncio.Task[Any]]()
        try:
            yield begun
        finally:
            self.in_use -= 1
            ended = asyncio.gather(*begun, return_exceptions=True)
            ended.add_done_callback(lambda _: self._turns.release())

    def _client(self) -> AIOKafkaConsumer:
        return make_reader(self._kafka, wait_ms=FETCH_WAIT_MS)  # retention may pass a reader: see `_must_reach`

    async def read(
        self, partition: int, start: int, key: bytes, stop: float = inf, most: int = BATCH, name: str = ""
    ) -> tuple[list[Entry], int]:
        """A conversation's records from an offset on, as far as one turn gets, and the offset to go on at.

        A turn ends when something was found: a client that takes it slowly keeps nobody else waiting. Behind `stop` it
        looks no further: at the log's end it would wait. `most` are the records of anybody that are read before the
        first look: each takes some time, needed or not. Raises `DeletedByRetention` if the log begins behind `start`.
        """
        place = TopicPartition(self._topic, partition)
        async with self._reader(place, name) as consumer:
            self._seek(consumer, place, start)
            until = time.monotonic() + TURN_S
            while True:
                found = await deadline(consumer.getmany(place, timeout_ms=POLL_MS, max_records=most), "read the past")
                records, most = found.get(place, ()), BATCH
                after = records[-1].offset + 1 if records else await deadline(consumer.position(place), "read the past")
                if start < (records[0].offset if records else after):
                    await self._must_reach(consumer, place, start)
                came = entries(partition, [record for record in records if record.key == key])
                if came or after >= stop or time.monotonic() > until:
                    return came, after
                start = after

    @staticmethod
    async def _must_reach(consumer: AIOKafkaConsumer, place: TopicPartition, start: int) -> None:
        """What lies between an offset and the next record may be ends of transactions, or deleted.

        Raises `DeletedByRetention`.
        """
        first = await deadline(consumer.beginning_offsets([place]), "look up the log's beginning")
        if first[place] > start:
            raise DeletedByRetention(first[place])

    async def bounds(self, partition: int, name: str = "") -> tuple[int, int]:
        """The partition's first offset, and the one behind its last committed record."""
        place = TopicPartition(self._topic, partition)
        async with self._asking(place, name) as consumer:
            first = await deadline(consumer.beginning_offsets([place]), "look up the log's beginning", ANSWER_S)
            end = await deadline(consumer.end_offsets([place]), "look up the log's end", ANSWER_S)
            return first[place], end[place]

    async def since(self, partition: int, time_ms: int, name: str = "") -> int | None:
        """The first offset whose timestamp is not below the time; None if all are.

        A broker that says so of a log whose last records are younger can't look up by time: then it is the log's first.
        """
        place = TopicPartition(self._topic, partition)
        async with self._asking(place, name) as consumer:
            found = await deadline(
                consumer.offsets_for_times({place: max(time_ms, 0)}), "look up an offset by time", ANSWER_S
            )
            if found[place] is not None:
                return int(found[place].offset)
        first, end = await self.bounds(partition, name)
        return first if await self._is_younger(place, max(first, end - LAST), time_ms, name) else None

    async def time_before(self, partition: int, offset: int, name: str = "") -> int:
        """When the last record before an offset was made, in milliseconds since the epoch; 0: there is none.

        A poll without anything does not say so, but only that nothing came yet. Raises `Unavailable`.
        """
        place = TopicPartition(self._topic, partition)
        async with self._asking(place, name) as consumer:
            self._seek(consumer, place, max(0, offset - LAST))
            until = time.monotonic() + ANSWER_S
            while await deadline(consumer.position(place), "read the past") < offset:
                found = await deadline(consumer.getmany(place, timeout_ms=POLL_MS, max_records=LAST), "read the past")
                if times := [record.timestamp for record in found.get(place, ()) if record.offset < offset]:
                    return int(times[-1])
                if time.monotonic() > until:
                    raise Unavailable(f"Kafka: read the past: no record before offset {offset} within {ANSWER_S:g} s")
            return 0

    async def _is_younger(self, place: TopicPartition, start: int, time_ms: int, name: str) -> bool:
        """Whether any record from here on is."""
        async with self._reader(place, name) as consumer:
            self._seek(consumer, place, start)
            found = await deadline(consumer.getmany(place, timeout_ms=POLL_MS, max_records=LAST), "read the past")
            return any(record.timestamp >= time_ms for record in found.get(place, ()))

    @staticmethod
    def _seek(consumer: AIOKafkaConsumer, place: TopicPartition, start: int) -> None:
        if place not in consumer.assignment():
            consumer.assign([place])
        consumer.seek(place, start)
        consumer.resume(place)


class ClientLogReader:
    """The pool as one client uses it: its turns count as those of its name."""

    __slots__ = ("_name", "_readers")

    def __init__(self, readers: LogReaders, name: str) -> None:
        self._readers = readers
        self._name = name

    async def read(
        self, partition: int, start: int, key: bytes, stop: float = inf, most: int = BATCH
    ) -> tuple[list[Entry], int]:
        """See `LogReaders.read`."""
        return await self._readers.read(partition, start, key, stop, most, self._name)

    async def bounds(self, partition: int) -> tuple[int, int]:
        """See `LogReaders.bounds`."""
        return await self._readers.bounds(partition, self._name)

    async def since(self, partition: int, time_ms: int) -> int | None:
        """See `LogReaders.since`."""
        return await self._readers.since(partition, time_ms, self._name)

    async def time_before(self, partition: int, offset: int) -> int:
        """See `LogReaders.time_before`."""
        return await self._readers.time_before(partition, offset, self._name)
