"""The gateway's way to Kafka: one idempotent producer for all writers, with a bound on what is under way.

Rules of this file:

1. A record counts as written when all replicas that have to have it do. A conversation's records go, in order, to the
   partition that the Java client would choose: its murmur2 over the key.
2. Nothing waits for ever, and nothing grows for ever. A write finds room among what is not acknowledged yet, or is
   refused with 429; it is acknowledged in time, or refused with 503. A record that was refused so keeps its room until
   Kafka has answered, and may still be written: the client retries idempotent batches until they are written.
3. A record that Kafka refuses leaves a hole in the producer's numbers, and no later one gets past it. So the client is
   then replaced by a new one, as soon as the old one is done with the rest: a conversation's records do not overtake
   each other. Records share batches, so a refusal says little of one of them: its writer may try again, and learns more
   then.
4. A new client is tried for as long as it takes. A certificate that is exchanged just then, or a token that can't be
   had, passes; a lasting failure shows as 503, with the reason in the log.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, KafkaTimeoutError
from aiokafka.partitioner import DefaultPartitioner

from tokenmill.config import Kafka
from tokenmill.errors import TokenmillError
from tokenmill.gateway.ingest.in_flight import (
    OF_LATE,
    ByteBudget,
    InFlightRecord,
    WrittenAt,
    refused,
    too_many,
    unavailable,
)
from tokenmill.gateway.problems import TOO_LARGE, Refused
from tokenmill.kafka.aiokafka_inside import sending_task
from tokenmill.kafka.calls import started, stopped
from tokenmill.kafka.clients import BATCH_BYTES, METADATA_MS, make_admin, producer_options, with_batches
from tokenmill.kafka.topics import accepted_bytes
from tokenmill.limits import MIB
from tokenmill.records import Headers
from tokenmill.tasks import cancelled

log = logging.getLogger(__name__)

RECORD_BYTES = 200
"""Bytes that a record takes beside key, value and headers, in memory and in a batch of its own."""

AGAIN_S = 0.5
"""Seconds between two attempts to start a new producer."""

_murmur2 = DefaultPartitioner()


class Bounds(msgspec.Struct, frozen=True):
    """Caps on records under way, and deadlines."""

    in_flight_bytes: int = 64 * MIB
    """Unacknowledged records of all writers: some seconds of what one broker takes, and a quarter of the window's
    memory."""
    partition_bytes: int = 8 * MIB
    """Unacknowledged records of one partition, as in the worker: one that has lost its leader leaves room for the
    others."""
    room_s: float = 5.0
    """Seconds that a write waits for room: longer than an election takes, shorter than people wait."""
    acknowledged_s: float = 15.0
    """Seconds that it waits for its acknowledgement: an election, a retry and a slow disk."""
    request_ms: int = 10_000
    """Milliseconds of silence after which a broker's connection is given up: a stalled machine does not close it."""
    start_s: float = 30.0
    """Seconds for one attempt to reach Kafka."""


class Producer:
    """Writes records of any topic.

        producer = Producer(config.kafka, ["tokens"])
        await producer.start()
        partition, offset = await producer.send("tokens", b"conversation-7", value, [("tm-codec", b"native")])

    Args:
        kafka: where Kafka is, and how to be let in.
        topics: those that are written to. The longest record of each is looked up at the start; longer ones are refused
            here, as a refusal by Kafka would cost a new producer.
        bounds: caps on what is under way.
    """

    def __init__(self, kafka: Kafka, topics: Collection[str], bounds: Bounds | None = None) -> None:
        self._kafka = kafka
        self._topics = topics
        self._bounds = bounds or Bounds()
        self._largest: Mapping[str, int] = {}
        self._all = ByteBudget(self._bounds.in_flight_bytes)
        self._of_partition: defaultdict[tuple[str, int], ByteBudget] = defaultdict(
            lambda: ByteBudget(self._bounds.partition_bytes)
        )
        self._under_way: set[InFlightRecord] = set()
        self._client: AIOKafkaProducer | None = None
        self._ready = asyncio.Event()
        self._renewal: asyncio.Task[None] | None = None
        self.acknowledged_s = 0.0
        """Seconds that records take to be acknowledged: a mean in which the last `OF_LATE` count most."""

    @property
    def in_flight_bytes(self) -> int:
        """Bytes of records that are not acknowledged."""
        return self._all.taken

    async def start(self) -> None:
        """Reach Kafka. Raises `Unavailable` if it does not answer; it may be called again then."""
        async with make_admin(self._kafka) as admin:
            self._largest = await accepted_bytes(admin, self._topics)
        doing = f"start the producer for {', '.join(self._topics)}"
        self._client = await started(self._make, doing, self._bounds.start_s)
        self._ready.set()

    async def stop(self) -> None:
        """Write what is under way, if Kafka takes it in time, and disconnect."""
        self._ready.clear()
        if self._renewal is not None:
            await cancelled(self._renewal)
        if self._client is not None:
            await self._let_go(self._client)
            self._client = None

    async def send(self, topic: str, key: bytes, value: bytes | None, headers: Headers = ()) -> WrittenAt:
        """Write one record, and return its place once all replicas have it. Raises `Refused`."""
        sent = await self.put(topic, await self.partition(topic, key), key, value, headers)
        return await sent.placed()

    async def partition(self, topic: str, key: bytes) -> int:
        """Return the partition that records of a key go to, as the topic is now. Raises `Refused`."""
        client = await self._usable()
        with _in_time(f"the partitions of {topic!r} are unknown; `tokenmill topics create` creates topics"):
            async with asyncio.timeout(self._bounds.room_s):
                numbers = await client.partitions_for(topic)
        return int(_murmur2(key, sorted(numbers), []))

    async def put(
        self, topic: str, partition: int, key: bytes, value: bytes | None, headers: Headers = ()
    ) -> InFlightRecord:
        """Send one record as soon as there is room for it; those of a partition are written in the order of calls.

        Raises `Refused` if there is no room, or no connection, in time.
        """
        pairs = list(headers)
        size = RECORD_BYTES + len(key) + len(value or b"") + sum(len(name) + len(content) for name, content in pairs)
        if size > self._largest[topic]:
            raise _too_large(size, self._largest[topic])
        sent = InFlightRecord(self._of_partition[topic, partition], size, self._bounds.acknowledged_s)
        await self._take(sent)
        try:
            client = await self._usable()
            with self._refusing(client):  # it waits for `request_ms` at most
                future = await client.send(topic, value, key=key, partition=partition, headers=pairs)
        except BaseException:  # a call that is given up has written nothing
            self._give(sent)
            raise
        self._under_way.add(sent)
        future.add_done_callback(partial(self._done, client, sent))
        return sent

    # Before a record is on its way

    async def _usable(self) -> AIOKafkaProducer:
        """Return the client; wait while it is being replaced. Raises `Refused`."""
        if not self._ready.is_set():
            with _in_time("there is no connection"):
                async with asyncio.timeout(self._bounds.room_s):
                    await self._ready.wait()
        assert self._client is not None  # noqa: S101 -- it is there once `_ready` is set
        return self._client

    async def _take(self, sent: InFlightRecord) -> None:
        await self._take_of(sent.budget, sent.size)
        try:
            await self._take_of(self._all, sent.size)
        except BaseException:
            sent.budget.give(sent.size)
            raise

    async def _take_of(self, budget: ByteBudget, size: int) -> None:
        if budget.try_take(size):  # a timer for each record would cost more than everything else
            return
        try:
            async with asyncio.timeout(self._bounds.room_s):
                await budget.take(size)
        except TimeoutError as late:
            raise too_many() from late

    def _give(self, sent: InFlightRecord) -> None:
        sent.budget.give(sent.size)
        self._all.give(sent.size)

    @contextmanager
    def _refusing(self, client: AIOKafkaProducer) -> Iterator[None]:
        """Turn what the client raises before it takes a record into a refusal."""
        try:
            yield
        except KafkaTimeoutError as late:
            raise too_many() from late
        except (KafkaError, AssertionError) as problem:  # it asserts that the partition is there
            if sending_task(client).done():
                self._replace(client, problem)
            raise refused(problem) from problem

    # When it is

    def _done(self, client: AIOKafkaProducer, sent: InFlightRecord, future: "asyncio.Future[Any]") -> None:
        self.acknowledged_s += (sent.age_s - self.acknowledged_s) / OF_LATE
        problem = future.exception()
        if problem is None:
            record = future.result()
            self._over(sent, WrittenAt(record.partition, record.offset))
            return
        self._replace(client, problem)
        self._over(sent, refused(problem))

    def _over(self, sent: InFlightRecord, outcome: WrittenAt | Refused) -> None:
        if sent in self._under_way:
            self._under_way.discard(sent)
            self._give(sent)
            sent.settle(outcome)

    # Another client

    def _make(self) -> AIOKafkaProducer:
        options = {"metadata_max_age_ms": METADATA_MS, **producer_options(self._kafka)}
        return AIOKafkaProducer(
            **with_batches(options, min(BATCH_BYTES, *self._largest.values()))
            | {"request_timeout_ms": self._bounds.request_ms},
            enable_idempotence=True,
            acks="all",
            max_request_size=max(self._largest.values()),
        )

    def _replace(self, client: AIOKafkaProducer, problem: BaseException) -> None:
        if client is self._client and self._ready.is_set():
            log.warning("replacing the producer, as Kafka refused a record: %r", problem)
            self._ready.clear()
            self._renewal = asyncio.create_task(self._renew(client))

    async def _renew(self, old: AIOKafkaProducer) -> None:
        self._client = None
        await self._let_go(old)
        while self._client is None:
            try:
                await self.start()
            except Exception as problem:  # noqa: BLE001 -- whatever it is, without another try nothing more would be written
                log.warning("%s; next try in %g s", _reason_of(problem), AGAIN_S)
                await asyncio.sleep(AGAIN_S)

    async def _let_go(self, client: AIOKafkaProducer) -> None:
        """Stop a client, which first writes what it has. What it can't write in time is refused."""
        await stopped(client, self._bounds.acknowledged_s)
        for sent in list(self._under_way):
            self._over(sent, unavailable("the producer was closed before Kafka acknowledged the record"))


def _reason_of(problem: Exception) -> str:
    """Return why there is no client yet. Exceptions of other code may hold a secret: only their type is shown."""
    known = isinstance(problem, TokenmillError)
    return str(problem) if known else f"the producer can't be started: {type(problem).__name__}"


def _too_large(size: int, largest: int) -> Refused:
    """Return the refusal for a record that is larger than the topic takes."""
    return Refused(TOO_LARGE, f"the record has {size} bytes, key and headers included; the topic takes {largest}")


@contextmanager
def _in_time(what: str) -> Iterator[None]:
    try:
        yield
    except (TimeoutError, KafkaError) as problem:
        raise unavailable(f"Kafka: {what}") from problem
