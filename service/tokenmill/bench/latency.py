"""How long a record takes through one side while records keep coming at a steady rate.

Measured from the input record's timestamp to the arrival of its output at a reader of committed records, on as many
partitions as it can read without taking processor time from the measured side. The method is the same for all sides.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import islice

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from tokenmill.bench.clock import p50_p99
from tokenmill.bench.kafka import BATCH_BYTES, Watch, filled
from tokenmill.bench.load import Load, Record
from tokenmill.bench.processes import queued_seconds
from tokenmill.bench.workbench import Workbench, new_group
from tokenmill.errors import FatalError
from tokenmill.tasks import beside

TICK_S = 0.01
"""Seconds between two batches of input: a tenth of a fast model's time per token."""

WARM_UP_S, MEASURED_S = 3.0, 8.0

FIRST = 100
"""Records that show that a side is working, before timing starts."""

WATCHED_PER_S = 4_000.0
"""Records per second that the reader takes, or those of one partition: some percent of a processor."""

FETCH_WAIT_MS = 50
"""Milliseconds that an empty fetch waits, as in the measured sides."""

BEHIND_S = 60.0
"""Seconds for a side to start working, and to finish at the end: half of its load is no reason to be late."""

POLL_S = 0.1


class Latency(msgspec.Struct, frozen=True):
    """One run of one side; times in milliseconds."""

    records_per_s: float
    p50_ms: float
    p99_ms: float
    queued: float | None = None
    """Share of the time in which the process could have worked, but another one had the processor."""


async def latency_of(workbench: Workbench, side: str, records_per_s: float, admin: AIOKafkaAdminClient) -> Latency:
    """Feed one side at this rate and follow its output. Raises `FatalError` if it does not keep up."""
    group = new_group()
    process = workbench.process(side, group)
    watch = workbench.watch(admin, group, process)
    count = min(workbench.partitions, max(1, int(WATCHED_PER_S * workbench.partitions / records_per_s)))
    watched = [TopicPartition(workbench.outputs(side)[0], number) for number in range(count)]
    load = Load(round(records_per_s * (WARM_UP_S + MEASURED_S)), workbench.partitions)
    warm_up = round(records_per_s * WARM_UP_S)
    first = min(FIRST, warm_up)
    async with following(workbench.bootstrap, watched) as (consumer, seen), feeding(workbench) as producer:
        try:
            await asyncio.to_thread(process.start)
            records = iter(load)
            await _send(producer, workbench, list(islice(records, first)))
            await _through(watch, first, f"{side} is not at work")
            await feed(producer, workbench, records, warm_up - first, records_per_s)
            start_ms, queued = time.time() * 1_000, queued_seconds(process.pid)
            await feed(producer, workbench, records, load.records - warm_up, records_per_s)
            queued_later, took = queued_seconds(process.pid), time.time() - start_ms / 1_000
            await all_seen(watch, load.records, consumer, f"{side} does not keep up")
        finally:
            await asyncio.to_thread(process.stop)
    times = p50_p99([arrived - sent for arrived, sent in seen if sent >= start_ms])
    share = (queued_later - queued) / took if queued is not None and queued_later is not None else None
    return Latency(records_per_s, *times, share)


@asynccontextmanager
async def following(
    bootstrap: str, watched: Sequence[TopicPartition]
) -> AsyncIterator[tuple[AIOKafkaConsumer, list[tuple[float, int]]]]:
    """Yield a reader of records committed from now on, and the times when each arrived and its input was sent."""
    seen: list[tuple[float, int]] = []
    async with AIOKafkaConsumer(
        bootstrap_servers=bootstrap, isolation_level="read_committed", fetch_max_wait_ms=FETCH_WAIT_MS
    ) as consumer:
        consumer.assign(watched)
        await consumer.seek_to_end(*watched)
        async with beside(_follow(consumer, seen), "the reader"):
            yield consumer, seen


def feeding(workbench: Workbench) -> AIOKafkaProducer:
    """Return a producer of input."""
    return AIOKafkaProducer(bootstrap_servers=workbench.bootstrap, max_batch_size=BATCH_BYTES)


async def feed(
    producer: AIOKafkaProducer, workbench: Workbench, records: Iterator[Record], count: int, records_per_s: float
) -> None:
    """Send `count` records at a steady rate, each with the time at which it is sent."""
    started, sent = time.monotonic(), 0
    while sent < count:
        due = min(round((time.monotonic() - started) * records_per_s), count) - sent
        await _send(producer, workbench, list(islice(records, due)))
        sent += due
        await asyncio.sleep(TICK_S)


async def all_seen(watch: Watch, records: int, consumer: AIOKafkaConsumer, late: str) -> None:
    """Wait until `records` are committed, and the reader has their outputs. Raises `FatalError` if that is late."""
    await _through(watch, records, late)
    ends = await consumer.end_offsets(consumer.assignment())
    while any([await consumer.position(place) < end for place, end in ends.items()]):  # noqa: ASYNC110 -- the client's own task moves it
        await asyncio.sleep(POLL_S)


async def _through(watch: Watch, records: int, late: str) -> None:
    """Wait until `records` are committed: any that did not arrive would be missing from the figures."""
    try:
        async with asyncio.timeout(BEHIND_S):
            await watch.reached(records)
    except TimeoutError as problem:
        raise FatalError(f"{late} within {BEHIND_S:.0f} s") from problem


async def _send(producer: AIOKafkaProducer, workbench: Workbench, records: Sequence[Record]) -> None:
    now_ms = int(time.time() * 1_000)
    for partition, batch in filled(producer, records, now_ms, workbench.partitions):
        await producer.send_batch(batch, workbench.tokens, partition=partition)


async def _follow(consumer: AIOKafkaConsumer, seen: list[tuple[float, int]]) -> None:
    """Note when each record arrives and when its input was sent, in milliseconds."""
    while True:
        for records in (await consumer.getmany(timeout_ms=100)).values():
            now_ms = time.time() * 1_000
            seen += [(now_ms, record.timestamp) for record in records]
