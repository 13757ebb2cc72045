"""The one reader of the log's head: fills the windows and tells the hub, for the partitions that somebody waits on.

1. It has no group, so it disturbs nobody and commits nothing. It sees what is committed only.
2. All partitions are assigned; those without readers are paused. One that is asked for begins at its end; what lies
   before is read by `LogReaders`. One that nobody has read for a minute is paused again, and its window forgotten.
3. While no broker answers, nothing comes, and everybody waits. A task that ends, a topic that shrinks, a Kafka that is
   away for too long: the process ends and is started anew. That the topic has shrunk is believed when it is said again.
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
from tokenmill.kafka.aiokafka_inside import fresh_metadata
from tokenmill.kafka.calls import deadline, started, stopped, stopped_on_failure
from tokenmill.kafka.client_tasks import must_read
from tokenmill.kafka.clients import make_reader
from tokenmill.kafka.fetched import unwrap_fetched
from tokenmill.kafka.lookup import assign_at, partition_of
from tokenmill.kafka.topics import FewerPartitions

POLL_MS = 200
"""How long one poll waits: the delay with which a limit of time is noticed, not a delay of events."""

IDLE_S = 60.0
"""A partition that nobody reads is kept for so long: who reloads a page comes back within seconds."""

BATCH = 2_000
"""Records of one poll: some 20 ms of the loop, in which nothing else is served."""

GROWTH_S = 10.0
"""Between two looks for new partitions, which also tell whether Kafka answers."""

AWAY_S = 300.0
"""After so long without an answer of Kafka's the process ends: a fresh one may find what this one can't."""

FETCH_WAIT_MS = 100
"""One fetch is in flight a broker, and a partition that somebody has just come to waits for its end: so long may the
first record of it take."""


log = logging.getLogger(__name__)


class Listener(Protocol):
    """What the tail tells to a client at the head of a partition."""

    def lose(self) -> None:
        """The log is no longer the one that was read."""


class Listeners(Protocol):
    """Who is told of records: the hub."""

    def dispatch(self, entries: Sequence[Entry]) -> set[int]:
        """Records that are new. Answers the offsets of those that somebody waits for."""

    def clients(self, partition: int) -> Sequence[Listener]:
        """Everybody who reads a partition."""


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
        self._windows = windows
        self._hub = hub
        self._told = told
        self._consumer: AIOKafkaConsumer | None = None
        self._partitions = 0
        self._pins: Counter[int] = Counter()
        self._wanted_at: dict[int, float] = {}
        self._opening: dict[int, asyncio.Task[Window]] = {}
        self.polled_at = 0.0
        """When Kafka was heard of last, in the loop's seconds; before that, since when it is asked; 0: it is not."""

    async def start(self, seconds: float) -> None:
        """Connect and find the partitions. It may be tried again."""
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
        opening = tuple(self._opening.values())
        for task in opening:
            task.cancel()
        await asyncio.gather(*opening, return_exceptions=True)
        if self._consumer is not None:
            await stopped(self._consumer)

    def partition_of(self, key: bytes) -> int:
        """Where a conversation's records are, as producers place them."""
        return partition_of(key, self._partitions)

    @property
    def partitions(self) -> int:
        """Of the topic; 0 until Kafka has said."""
        return self._partitions

    def uncommitted(self) -> Iterator[tuple[int, int]]:
        """Partitions that are read, and how many records at their ends wait for the end of a transaction."""
        for partition, _ in self._windows:
            consumer = self._started()
            place = TopicPartition(self._topic, partition)
            end, stable = consumer.highwater(place), consumer.last_stable_offset(place)
            if end is not None and stable is not None:
                yield partition, max(0, end - stable)

    async def pin(self, partition: int) -> Window:
        """The partition's window, which is filled until it is let go of as often."""
        self._pins[partition] += 1
        try:
            return await self._opened(partition)
        except BaseException:
            self.unpin(partition)
            raise

    def unpin(self, partition: int) -> None:
        """One reader less."""
        self._pins[partition] -= 1
        self._wanted_at[partition] = time.monotonic()

    async def pin_all(self) -> None:
        """Read every partition from now on: one that is come to only when it is needed waits for a fetch of others."""
        for partition in range(self._partitions):
            await self.pin(partition)

    async def _opened(self, partition: int) -> Window:
        """The window, which is opened once for all who come: a partition that does not answer keeps nobody of another
        one waiting.
        """
        window = self._windows.get(partition)
        if window is not None:
            return window
        opening = self._opening.get(partition)
        if opening is None:
            opening = self._opening[partition] = asyncio.create_task(self._open(partition))
            opening.add_done_callback(lambda task: self._is_open(partition, task))
        return await asyncio.shield(opening)  # whoever asked first may leave

    async def _open(self, partition: int) -> Window:
        consumer, place = self._started(), TopicPartition(self._topic, partition)
        end = (await deadline(consumer.end_offsets([place]), "look up the log's end"))[place]
        consumer.seek(place, end)  # from here on nothing waits: an assignment sees the window, or is seen by it
        consumer.resume(place)
        return self._windows.open(partition, end)

    def _is_open(self, partition: int, opening: "asyncio.Task[Window]") -> None:
        del self._opening[partition]
        if not opening.cancelled():
            opening.exception()  # nobody may be left who would look at it

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read())
            group.create_task(self._tend())

    async def _read(self) -> None:
        consumer, loop = self._started(), asyncio.get_running_loop()
        while True:
            must_read(consumer)
            unwrap_fetched(consumer)
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
        window = self._windows.get(partition)
        if window is None:
            return  # it was let go of while the fetch was on its way
        came = [entry for entry in entries(partition, records) if entry.offset >= window.end]
        self._windows.add(partition, came, records[-1].offset + 1, time.monotonic())
        told = self._hub.dispatch(came)
        self._told(record.timestamp for record in records if record.offset in told)

    def _lost(self, partitions: Iterable[int]) -> None:
        """The log lost what was about to be read, or is another one: clients come back, and are told of it."""
        for partition in partitions:
            self._started().pause(TopicPartition(self._topic, partition))
            self._windows.drop(partition)
            for client in self._hub.clients(partition):
                client.lose()

    async def _tend(self) -> None:
        fewer = FewerPartitions(self._topic)
        while True:
            await asyncio.sleep(GROWTH_S)
            count = await self._answered()
            self._windows.expire(time.monotonic())
            self._let_go()
            if odd := fewer.look(count, self._partitions):
                log.warning("%s, as a broker says; it is asked again", odd)
            if count > self._partitions:
                self._assign(count)

    async def _answered(self) -> int:
        """The number of partitions; the last one that was known while Kafka does not answer."""
        now = asyncio.get_running_loop().time
        try:
            count = await self._count()
        except Unavailable as problem:
            if now() - self.polled_at > AWAY_S:
                raise
            log.warning("%s; streams wait", problem)
            return self._partitions
        self.polled_at = now()
        return count

    def _let_go(self) -> None:
        long_ago = time.monotonic() - IDLE_S
        for partition, _ in tuple(self._windows):
            if not self._pins[partition] and self._wanted_at.get(partition, 0) < long_ago:
                self._started().pause(TopicPartition(self._topic, partition))
                self._windows.drop(partition)

    def _assign(self, count: int) -> None:
        """Assign all partitions, those that are read at the ends of their windows; pause the others."""
        consumer = self._started()
        places = [TopicPartition(self._topic, number) for number in range(count)]
        open_ = {partition: window.end for partition, window in self._windows}
        # The client asks for an offset of those that are paused, too.
        assign_at(consumer, {place: open_.get(place.partition, 0) for place in places})
        consumer.pause(*(place for place in places if place.partition not in open_))
        self._partitions = count

    async def _count(self) -> int:
        known = await deadline(fresh_metadata(self._started()), f"look up the partitions of {self._topic!r}")
        return len(known.partitions_for_topic(self._topic) or ())

    def _reader(self) -> AIOKafkaConsumer:
        return make_reader(self._kafka, wait_ms=FETCH_WAIT_MS, reset="none")

    def _started(self) -> AIOKafkaConsumer:
        if self._consumer is None:
            raise RuntimeError("a Tail reads once it is started")
        return self._consumer
