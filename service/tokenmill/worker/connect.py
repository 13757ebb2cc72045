"""Kafka clients made from the configuration, and how long a broker is waited for.

The values that are fixed here are those that the promises need; what an operator may choose is in the configuration.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from tokenmill.config import Kafka
from tokenmill.errors import Unavailable
from tokenmill.kafka import CALL_S, client_options, consumer_options, deadline, producer_options
from tokenmill.limits import KIB, MIB
from tokenmill.partition import PartitionSettings

log = logging.getLogger(__name__)

T = TypeVar("T")

FETCH_WAIT_MS = 50
"""One fetch is in flight a broker; while it waits for one partition, resumed ones wait with it."""

READER_WAIT_MS = 500
"""Of those that read much, or wait for nobody."""

FETCH_PARTITION_BYTES = 512 * KIB
"""Records of one partition in one fetch; a longer record still comes, alone."""

FETCH_BYTES = 16 * MIB
"""Records of all partitions in one fetch: bounds what is read and not yet parsed."""

METADATA_MS = 30_000
"""How old the client's view of topics may be: so long it takes until partitions that were added are read."""

BATCH_BYTES = 512 * KIB
"""Largest record batch. The broker's default limit for one is 1 MiB."""

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 5.0


def make_consumer(kafka: Kafka, reset: str = "none") -> AIOKafkaConsumer:
    """A member of the consumer group; `subscribe` it before its start.

    No deserializer: one that raises would stop the partition. No `reset` of offsets: skipping data is our decision.
    """
    usual = {
        "metadata_max_age_ms": METADATA_MS,
        "fetch_max_wait_ms": FETCH_WAIT_MS,
        "fetch_max_bytes": FETCH_BYTES,
        "max_partition_fetch_bytes": FETCH_PARTITION_BYTES,
    }
    return AIOKafkaConsumer(
        **usual | consumer_options(kafka),
        group_id=kafka.group_id,
        group_instance_id=kafka.group_instance_id,
        session_timeout_ms=kafka.session_timeout_ms,
        heartbeat_interval_ms=kafka.heartbeat_interval_ms,
        rebalance_timeout_ms=kafka.rebalance_timeout_ms,
        enable_auto_commit=False,
        auto_offset_reset=reset,
        isolation_level="read_committed",
    )


def make_reader(kafka: Kafka, *topics: str, wait_ms: int = READER_WAIT_MS) -> AIOKafkaConsumer:
    """A reader that is in no group and sees what is committed.

    It has all partitions of the topics, new ones too; without topics, those that it is assigned. `wait_ms` is how long
    a fetch of nothing takes: a Kafka ends one as soon as something comes, the embedded broker does not.
    """
    return AIOKafkaConsumer(
        *topics,
        **{"fetch_max_wait_ms": wait_ms} | consumer_options(kafka),
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )


def make_producer(kafka: Kafka, batch_bytes: int = BATCH_BYTES, **transactions: Any) -> AIOKafkaProducer:
    """An idempotent producer: a retry neither doubles nor reorders a partition's records.

    `transactions` are the client's own arguments, for one that publishes in transactions.
    """
    options = producer_options(kafka)
    options["max_batch_size"] = min(batch_bytes, options.get("max_batch_size", batch_bytes))
    return AIOKafkaProducer(**options, enable_idempotence=True, acks="all", **transactions)


async def find_partitions(producer: AIOKafkaProducer, topics: Collection[str], numbers: Collection[int]) -> None:
    """Have a producer know these partitions of the topics it writes to. Raises `Unavailable` if it can't yet.

    Its view of a topic is minutes old, or that of a broker that has not heard of new partitions; for one that it does
    not know it fails with an assertion.
    """
    client = producer.client
    await deadline(asyncio.gather(*map(client.add_topic, topics)), "look for the outputs")
    unknown = [topic for topic in topics if not _has(client.cluster.partitions_for_topic(topic), numbers)]
    if unknown:
        await deadline(client.force_metadata_update(), "look for the outputs")
    for topic in unknown:
        if not _has(client.cluster.partitions_for_topic(topic), numbers):
            raise Unavailable(f"Kafka: the broker does not know all partitions of {topic} yet")


def _has(partitions: Collection[int] | None, numbers: Collection[int]) -> bool:
    return set(numbers) <= set(partitions or ())


def batch_bytes(settings: PartitionSettings) -> int:
    """Largest record batch for outputs: all of a topic's limit may be one record."""
    return min(BATCH_BYTES, settings.limits.output_bytes)


def make_admin(kafka: Kafka) -> "Admin":
    """A client for topics and their settings, as a context manager."""
    return Admin(kafka)


class Admin:
    """`async with make_admin(kafka) as admin`: started and closed with deadlines."""

    def __init__(self, kafka: Kafka) -> None:
        self._client = AIOKafkaAdminClient(**client_options(kafka))

    async def __aenter__(self) -> AIOKafkaAdminClient:
        try:
            await deadline(self._client.start(), "connect")
        except BaseException:
            await self.__aexit__()
            raise
        return self._client

    async def __aexit__(self, *exception: object) -> None:
        with contextlib.suppress(KafkaError, OSError, TimeoutError):
            async with asyncio.timeout(CALL_S):
                await self._client.close()


async def until_available(attempt: Callable[[], Awaitable[T]], seconds: float) -> T:
    """Try again and again, with growing pauses, for so long; each failure is said in the log. Then raises."""
    loop = asyncio.get_running_loop()
    give_up = loop.time() + seconds
    pause = FIRST_PAUSE_S
    while True:
        try:
            return await attempt()
        except Unavailable as problem:
            left = give_up - loop.time()
            if left <= 0:
                raise
            log.warning("%s; next try in %g s, giving up in %.0f s", problem, pause, left)
        await asyncio.sleep(min(pause, max(left, 0)))
        pause = min(2 * pause, LONGEST_PAUSE_S)
