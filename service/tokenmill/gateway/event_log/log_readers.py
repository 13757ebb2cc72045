"""Reads records that lie before the window from the log, with a few consumers that clients use in turns.

Names take turns, too: while one client reads a thousand conversations at once, another waits for only one of them.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import inf
from typing import Any

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
from tokenmill.kafka.lookup import bounds_of
from tokenmill.tasks import Tasks

POLL_MS = 200
"""Milliseconds that one poll waits for records: there are some, or the reader is at the end."""

TURN_S = 0.2
"""Seconds that one client may scan before another one gets its turn."""

EMPTY_TURNS = 75
"""Turns in a row in which nothing comes, although there is more, after which Kafka counts as away: 15 s, or some
more where a reading rests in between. They are counted, since a process that was suspended saw nothing for longer."""

START_S = 30.0

ANSWER_S = 5.0
"""Seconds to wait for an answer about a partition, or for the record before an offset: both exist, but a connection to
the broker may have to be made. The consumer is occupied meanwhile."""

FETCH_WAIT_MS = 10
"""Milliseconds that a broker may hold a fetch at the log's end: the next client's fetch waits for its answer."""

LAST = 50
"""Offsets at a log's end, or before a place, whose timestamps are read; some are ends of transactions."""

BATCH = 5_000
"""Records of one poll: it keeps the loop busy for 50 ms at most."""


class DeletedByRetention(Unavailable):
    """Retention has deleted the place to read from: the log now begins after it."""

    def __init__(self, first: int) -> None:
        super().__init__(f"retention has deleted the place to read from: the log now begins at offset {first}")
        self.first = first


class LogReaders:
    """A pool of consumers, each of which reads a partition from any offset on for one client at a time.

    Raises `Unavailable` when Kafka does not answer.
    """

    def __init__(self, kafka: Kafka, topic: str, readers: int) -> None:
        self._kafka = kafka
        self.topic = topic
        self._turns = FairSemaphore(readers)
        self._unresponsive = UnresponsivePartitions(max(1, readers // 2))
        self._free: list[AIOKafkaConsumer] = []
        self._unfinished = Tasks()
        """Work that continues when its client leaves: cancelled, it would leak a connection."""
        self.in_use = 0
        """Consumers that clients use now."""

    def of(self, name: str) -> "ClientLogReader":
        """Return a reader for the client of this name."""
        return ClientLogReader(self, name)

    async def close(self) -> None:
        """Stop all consumers. Call it when no client reads any longer."""
        await self._unfinished.settled()
        while self._free:
            await stopped(self._free.pop())

    @asynccontextmanager
    async def reader(self, place: TopicPartition, name: str) -> AsyncIterator[AIOKafkaConsumer]:
        """Yield a consumer to read a partition with, once it is this name's turn."""
        async with self._turn(name) as begun, self._consumer(place, begun) as consumer:
            yield consumer

    @asynccontextmanager
    async def asking(self, place: TopicPartition, name: str) -> AsyncIterator[AIOKafkaConsumer]:
        """Yield a consumer for a question that only an answer ends; a partition that does not answer gets few."""
        async with self._unresponsive.asked(place.partition) as asked, self._turn(name) as begun:
            self._unresponsive.check(place.partition)  # others may have waited in vain meanwhile
            async with self._consumer(place, begun) as consumer:
                with asked:
                    yield consumer

    @asynccontextmanager
    async def _consumer(self, place: TopicPartition, begun: list[asyncio.Task[Any]]) -> AsyncIterator[AIOKafkaConsumer]:
        for deaf in [each for each in self._free if any(ended(reading_tasks(each).items()))]:
            self._free.remove(deaf)
            begun.append(self._unfinished.begin(stopped(deaf), "the end of a deaf reader"))
        consumer = self._at(place) if self._free else await self._connected(begun)
        try:
            yield consumer
            must_read(consumer, Unavailable)
        except BaseException:
            begun.append(self._unfinished.begin(stopped(consumer), "the end of a reader"))  # whatever state it is in
            raise
        consumer.pause(*consumer.assignment())
        self._free.append(consumer)

    def _at(self, place: TopicPartition) -> AIOKafkaConsumer:
        """Take a free consumer, if possible one that is assigned to this place already: it needs no look-up."""
        found = next((each for each in self._free if place in each.assignment()), self._free[0])
        self._free.remove(found)
        return found

    async def _connected(self, begun: list[asyncio.Task[Any]]) -> AIOKafkaConsumer:
        connecting = self._unfinished.begin(started(self._client, "connect a reader", START_S), "a new reader")
        begun.append(connecting)
        try:
            return await asyncio.shield(connecting)
        except asyncio.CancelledError:
            connecting.add_done_callback(self._keep)  # the client left: the next one takes it
            raise

    def _keep(self, connecting: "asyncio.Task[AIOKafkaConsumer]") -> None:
        if not connecting.cancelled() and connecting.exception() is None:
            self._free.append(connecting.result())

    @asynccontextmanager
    async def _turn(self, name: str) -> AsyncIterator[list[asyncio.Task[Any]]]:
        """Hold one of the readers' places until the work begun in it has ended, even if its client leaves earlier."""
        await self._turns.acquire(name)
        self.in_use += 1
        begun = list[asyncio.Task[Any]]()
        try:
            yield begun
        finally:
            self.in_use -= 1
            all_ended = asyncio.gather(*begun, return_exceptions=True)
            all_ended.add_done_callback(lambda _: self._turns.release())

    def _client(self) -> AIOKafkaConsumer:
        return make_reader(self._kafka, wait_ms=FETCH_WAIT_MS)  # retention may pass a reader: see `_must_reach`


class ClientLogReader:
    """The pool as one client uses it: its turns count as those of its name. Raises `Unavailable` as the pool does."""

    __slots__ = ("_empty_turns", "_name", "_pool")

    def __init__(self, pool: LogReaders, name: str) -> None:
        self._pool = pool
        self._name = name
        self._empty_turns = 0
        """Turns in a row in which nothing came."""

    def _place(self, partition: int) -> TopicPartition:
        return TopicPartition(self._pool.topic, partition)

    async def read(
        self, partition: int, start: int, key: bytes, stop: float = inf, most: int = BATCH
    ) -> tuple[list[Entry], int]:
        """Return a conversation's records from an offset on, as far as one turn gets, and the offset to continue at.

        A turn ends once something is found, so a slow client keeps no other waiting. It does not read beyond `stop`, as
        it would wait at the log's end. `most` caps the records, of all conversations, of the first poll: each costs
        time, needed or not. Raises `DeletedByRetention` if the log begins after `start`.
        """
        place, begin = self._place(partition), start
        async with self._pool.reader(place, self._name) as consumer:
            _seek(consumer, place, start)
            until = time.monotonic() + TURN_S
            while True:
                found = await deadline(consumer.getmany(place, timeout_ms=POLL_MS, max_records=most), "read the past")
                records, most = found.get(place, ()), BATCH
                after = records[-1].offset + 1 if records else await deadline(consumer.position(place), "read the past")
                if start < (records[0].offset if records else after):
                    await _must_reach(consumer, place, start)
                came = entries(partition, [record for record in records if record.key == key])
                if came or after >= stop or time.monotonic() > until:
                    self._note_turn(begin, after)
                    return came, after
                start = after

    def _note_turn(self, begin: int, after: int) -> None:
        """Raise `Unavailable` if no turn has got further for long: polls raise nothing while Kafka is away."""
        self._empty_turns = self._empty_turns + 1 if after == begin else 0
        if self._empty_turns >= EMPTY_TURNS:
            raise Unavailable(f"Kafka: read the past: nothing came from offset {begin} on for {EMPTY_TURNS} turns")

    async def bounds(self, partition: int) -> tuple[int, int]:
        """Return the partition's first offset, and the one after its last committed record."""
        place = self._place(partition)
        async with self._pool.asking(place, self._name) as consumer:
            return await bounds_of(consumer, place, ANSWER_S)

    async def since(self, partition: int, time_ms: int) -> int | None:
        """Return the first offset whose timestamp is not before the time; None if all timestamps are.

        A broker that finds none although the log's last records are younger can't look up offsets by time. Then the
        log's first offset is returned.
        """
        place = self._place(partition)
        async with self._pool.asking(place, self._name) as consumer:
            found = await deadline(
                consumer.offsets_for_times({place: max(time_ms, 0)}), "look up an offset by time", ANSWER_S
            )
            if found[place] is not None:
                return int(found[place].offset)
        first, end = await self.bounds(partition)
        return first if await self._is_younger(place, max(first, end - LAST), time_ms) else None

    async def time_before(self, partition: int, offset: int) -> int:
        """Return the timestamp of the last record before an offset, in milliseconds since the epoch; 0 if there is
        none.

        An empty poll does not prove that: the records may not have come yet. Raises `Unavailable`.
        """
        place = self._place(partition)
        async with self._pool.asking(place, self._name) as consumer:
            _seek(consumer, place, max(0, offset - LAST))
            until = time.monotonic() + ANSWER_S
            while await deadline(consumer.position(place), "read the past") < offset:
                found = await deadline(consumer.getmany(place, timeout_ms=POLL_MS, max_records=LAST), "read the past")
                if times := [record.timestamp for record in found.get(place, ()) if record.offset < offset]:
                    return int(times[-1])
                if time.monotonic() > until:
                    raise Unavailable(f"Kafka: read the past: no record before offset {offset} within {ANSWER_S:g} s")
            return 0

    async def _is_younger(self, place: TopicPartition, start: int, time_ms: int) -> bool:
        """Whether any of the next records is not older than the time."""
        async with self._pool.reader(place, self._name) as consumer:
            _seek(consumer, place, start)
            found = await deadline(consumer.getmany(place, timeout_ms=POLL_MS, max_records=LAST), "read the past")
            return any(record.timestamp >= time_ms for record in found.get(place, ()))


async def _must_reach(consumer: AIOKafkaConsumer, place: TopicPartition, start: int) -> None:
    """Raise `DeletedByRetention` if the log begins after an offset.

    A later first record alone is no proof: ends of transactions may lie between an offset and the next record.
    """
    first = await deadline(consumer.beginning_offsets([place]), "look up the log's beginning")
    if first[place] > start:
        raise DeletedByRetention(first[place])


def _seek(consumer: AIOKafkaConsumer, place: TopicPartition, start: int) -> None:
    if place not in consumer.assignment():
        consumer.assign([place])
    consumer.seek(place, start)
    consumer.resume(place)
