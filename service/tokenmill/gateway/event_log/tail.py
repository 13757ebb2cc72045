"""The one reader of the log's head: fills the windows and notifies the hub, for the partitions that clients wait on.

1. It has no group, so it disturbs no other consumer and commits nothing. It sees only what is committed.
2. All partitions are assigned; those without readers are paused. A requested partition is read from its end on;
   `LogReaders` reads the records before. A partition without readers for a minute is paused again, and its window
   dropped.
3. While no broker answers, no records come, and all clients wait. If a task ends, the topic shrinks or Kafka is away
   for too long, the process ends and is started again. A smaller number of partitions has to be reported several times
   before it counts.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import OffsetOutOfRangeError

from tokenmill.config import Kafka
from tokenmill.errors import FatalError, Unavailable
from tokenmill.gateway.event_log.entry import Entry, entries
from tokenmill.gateway.event_log.window import Window, Windows
from tokenmill.kafka.aiokafka_inside import fresh_metadata, give_plain_records
from tokenmill.kafka.calls import deadline, started, stopped, stopped_on_failure
from tokenmill.kafka.client_tasks import must_read
from tokenmill.kafka.clients import make_reader
from tokenmill.kafka.lookup import assign_at, partition_of
from tokenmill.kafka.topics import FewerPartitions
from tokenmill.tasks import cancelled, looked_at

POLL_MS = 200
"""Milliseconds that one poll waits: the delay with which a deadline is noticed, not a delay of events."""

IDLE_S = 60.0
"""Seconds that a partition is kept without readers: a page that is reloaded comes back within seconds."""

BATCH = 2_000
"""Records of one poll: it keeps the loop busy for some 20 ms."""

GROWTH_S = 10.0
"""Seconds between two looks for new partitions, which also show whether Kafka answers."""

LOOK_AGAIN_S = 1.0
"""Seconds between two looks for a partition that is not known: ids can be forged."""

AWAY_S = 300.0
"""Seconds without an answer from Kafka after which the process ends: a new one may find what this one can't."""

FETCH_WAIT_MS = 100
"""Milliseconds that a broker may hold a fetch. Each broker has one in flight, and a newly opened partition waits for
the end of that fetch, so its first record may take as long."""


log = logging.getLogger(__name__)


class Listener(Protocol):
    """A client at the head of a partition, as the tail uses it."""

    def lose(self) -> None:
        """End the client's stream, as the log lost records or was replaced."""


class Listeners(Protocol):
    """The receiver of new records: the hub."""

    def dispatch(self, entries: Sequence[Entry]) -> set[int]:
        """Take new records. Return the offsets of those that a client waits for."""

    def clients(self, partition: int) -> Sequence[Listener]:
        """Return all clients that read a partition."""


class Tail:
    """Reads the ends of a topic's partitions. Raises `Unavailable` when Kafka does not answer."""

    def __init__(
        self,
        kafka: Kafka,
        topic: str,
        windows: Windows,
        hub: Listeners,
        told: Callable[[Iterable[int]], None],
    ) -> None:
        self._kafka = kafka
        self._topic = topic
        self.windows = windows
        self._hub = hub
        self._told = told
        self._consumer: AIOKafkaConsumer | None = None
        self._partitions = 0
        self._pins: Counter[int] = Counter()
        self._wanted_at: dict[int, float] = {}
        self._opening: dict[int, asyncio.Task[Window]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._looked_at = -LOOK_AGAIN_S
        self.polled_at = 0.0
        """Time of Kafka's last answer, in the loop's seconds; before the first answer, that of the first request, or
        0."""

    async def start(self, seconds: float) -> None:
        """Connect and find the partitions. May be called again if it fails."""
        self.polled_at = self.polled_at or asyncio.get_running_loop().time()
        self._consumer = await started(self._reader, f"connect to {self._kafka.bootstrap_servers}", seconds)
        async with stopped_on_failure(self._consumer):
            count = await self._count()
            if not count:
                raise FatalError(f"the topic {self._topic!r} does not exist; `tokenmill topics create` makes it")
            self._assign(count)
        self.polled_at = asyncio.get_running_loop().time()

    async def stop(self) -> None:
        """Disconnect."""
        await cancelled(*self._opening.values(), *([self._looking] if self._looking else []))
        if self._consumer is not None:
            await stopped(self._consumer)

    def partition_of(self, key: bytes) -> int:
        """Return the partition of a conversation's records, as producers place them."""
        return partition_of(key, self._partitions)

    @property
    def partitions(self) -> int:
        """The number of the topic's partitions; 0 until Kafka has answered."""
        return self._partitions

    async def has(self, partition: int) -> bool:
        """Whether the topic has a partition. Kafka is asked again about an unknown one, once for all waiting callers.

        Another gateway may have noticed before this one that the topic has grown.
        """
        if partition >= self._partitions:
            if self._looking is None:
                self._looking = asyncio.create_task(self._look_again())
                self._looking.add_done_callback(self._has_looked)
                self._looking.add_done_callback(looked_at)  # all callers may have left
            await asyncio.shield(self._looking)  # the first caller may leave
        return partition < self._partitions

    async def _look_again(self) -> None:
        await asyncio.sleep(self._looked_at + LOOK_AGAIN_S - time.monotonic())
        self._looked_at = time.monotonic()
        self._grow(await self._count())

    def _has_looked(self, _looking: "asyncio.Task[None]") -> None:
        self._looking = None

    def uncommitted(self) -> Iterator[tuple[int, int]]:
        """Yield each partition that is read, and how many records at its end wait for the end of a transaction."""
        for partition, _ in self.windows:
            consumer = self._started()
            place = TopicPartition(self._topic, partition)
            end, stable = consumer.highwater(place), consumer.last_stable_offset(place)
            if end is not None and stable is not None:
                yield partition, max(0, end - stable)

    async def pin(self, partition: int) -> Window:
        """Return the partition's window, which is filled until `unpin` has been called as often as this."""
        self._pins[partition] += 1
        try:
            return await self._opened(partition)
        except BaseException:
            self.unpin(partition)
            raise

    def unpin(self, partition: int) -> None:
        """Note that one reader has left."""
        self._pins[partition] -= 1
        self._wanted_at[partition] = time.monotonic()

    async def pin_all(self) -> None:
        """Read every partition from now on: a partition that is opened only when needed waits for a fetch of others."""
        for partition in range(self._partitions):
            await self.pin(partition)

    async def _opened(self, partition: int) -> Window:
        """Return the window, opened once for all callers; a partition that does not answer delays no other."""
        window = self.windows.get(partition)
        if window is not None:
            return window
        opening = self._opening.get(partition)
        if opening is None:
            opening = self._opening[partition] = asyncio.create_task(self._open(partition))
            opening.add_done_callback(lambda _: self._opening.pop(partition))
            opening.add_done_callback(looked_at)  # all callers may have left
        return await asyncio.shield(opening)  # the first caller may leave

    async def _open(self, partition: int) -> Window:
        consumer, place = self._started(), TopicPartition(self._topic, partition)
        end = (await deadline(consumer.end_offsets([place]), "look up the log's end"))[place]
        consumer.seek(place, end)  # no await from here on: an assignment sees the window, or is seen by it
        consumer.resume(place)
        return self.windows.open(partition, end)

    async def run(self) -> None:
        """Read records and watch for new partitions until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read())
            group.create_task(self._tend())

    async def _read(self) -> None:
        consumer, loop = self._started(), asyncio.get_running_loop()
        while True:
            must_read(consumer)
            give_plain_records(consumer)
            try:
                found = await deadline(consumer.getmany(timeout_ms=POLL_MS, max_records=BATCH), f"read {self._topic!r}")
            except Unavailable as problem:
                if not isinstance(problem.__cause__, OffsetOutOfRangeError):
                    raise
                self._lost(place.partition for place in problem.__cause__.args[0])
                continue
            if found:
                self.polled_at = loop.time()
            for place, records in found.items():
                self._take(place.partition, records)
            await asyncio.sleep(0)  # a poll that finds something does not yield

    def _take(self, partition: int, records: list[ConsumerRecord]) -> None:
        window = self.windows.get(partition)
        if window is None:
            return  # the partition was released during the fetch
        came = [entry for entry in entries(partition, records) if entry.offset >= window.end]
        self.windows.add(partition, came, records[-1].offset + 1, time.monotonic())
        told = self._hub.dispatch(came)
        self._told(record.timestamp for record in records if record.offset in told)

    def _lost(self, partitions: Iterable[int]) -> None:
        """End clients' streams: the log lost the next records, or was replaced. Returning clients learn of the gap."""
        for partition in partitions:
            self._started().pause(TopicPartition(self._topic, partition))
            self.windows.drop(partition)
            for client in self._hub.clients(partition):
                client.lose()

    async def _tend(self) -> None:
        fewer = FewerPartitions(self._topic)
        while True:
            await asyncio.sleep(GROWTH_S)
            count = await self._answered()
            self.windows.expire(time.monotonic())
            self._let_go()
            fewer.look(count, self._partitions)
            self._grow(count)

    def _grow(self, count: int) -> None:
        if count > self._partitions:
            self._assign(count)

    async def _answered(self) -> int:
        """Return the number of partitions; while Kafka does not answer, the last known one."""
        now = asyncio.get_running_loop().time
        try:
            count = await self._count()
        except Unavailable as problem:
            if now() - self.polled_at > AWAY_S:
                raise
            log.warning("%s; streams wait until Kafka answers", problem)
            return self._partitions
        self.polled_at = now()
        return count

    def _let_go(self) -> None:
        long_ago = time.monotonic() - IDLE_S
        for partition, _ in tuple(self.windows):
            if not self._pins[partition] and self._wanted_at.get(partition, 0) < long_ago:
                self._started().pause(TopicPartition(self._topic, partition))
                self.windows.drop(partition)

    def _assign(self, count: int) -> None:
        """Assign all partitions, those that are read at the ends of their windows; pause the others."""
        consumer = self._started()
        places = [TopicPartition(self._topic, number) for number in range(count)]
        open_ = {partition: window.end for partition, window in self.windows}
        # Kafka's client needs an offset for paused partitions, too.
        assign_at(consumer, {place: open_.get(place.partition, 0) for place in places})
        consumer.pause(*(place for place in places if place.partition not in open_))
        self._partitions = count

    async def _count(self) -> int:
        known = await deadline(
            fresh_metadata(self._started(), self._topic), f"look up the partitions of {self._topic!r}"
        )
        return len(known.partitions_for_topic(self._topic) or ())

    def _reader(self) -> AIOKafkaConsumer:
        return make_reader(self._kafka, wait_ms=FETCH_WAIT_MS, reset="none")

    def _started(self) -> AIOKafkaConsumer:
        if self._consumer is None:
            raise RuntimeError("a Tail can read only after its start")
        return self._consumer
