"""How long a record takes through one side while records keep coming at a steady rate.

Measured from the input record's timestamp to the arrival of its output here, on one partition: reading all of them
would take the processor from what is measured. The way here is the same for both sides.
"""

import asyncio
import time
from statistics import quantiles
from typing import Any

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from tokenmill.bench.kafka import BATCH_BYTES
from tokenmill.bench.load import PARTITIONS, Load
from tokenmill.bench.stand import Stand, new_group

TICK_S = 0.01
"""Between two batches of input: a tenth of a token's time of a fast model."""

WARM_UP_S, MEASURED_S = 3.0, 8.0

DRAIN_S = 5.0
"""For what is still on its way at the end."""


class Latency(msgspec.Struct, frozen=True):
    """One run of one side; times in milliseconds."""

    records_per_s: float
    p50_ms: float
    p99_ms: float


async def latency_of(stand: Stand, side: str, records_per_s: float) -> Latency:
    """Feed one side at this rate and follow what it writes."""
    process = stand.process(side, new_group())
    watched = TopicPartition(stand.outputs(side)[0], 0)
    consumer = AIOKafkaConsumer(bootstrap_servers=stand.bootstrap)
    await consumer.start()
    try:
        consumer.assign([watched])
        await consumer.seek_to_end(watched)
        await asyncio.to_thread(process.start)
        seen: list[tuple[float, int]] = []
        following = asyncio.create_task(_follow(consumer, seen))
        start_ms = time.time() * 1_000 + WARM_UP_S * 1_000
        await _feed(stand, records_per_s)
        await asyncio.sleep(DRAIN_S)
        following.cancel()
    finally:
        await asyncio.to_thread(process.stop)
        await consumer.stop()
    taken = [arrived - sent for arrived, sent in seen if sent >= start_ms]
    percentiles = quantiles(taken, n=100)
    return Latency(records_per_s, percentiles[49], percentiles[98])


async def _feed(stand: Stand, records_per_s: float) -> None:
    """Records of the load at a steady rate, each with the time at which it is sent."""
    producer = AIOKafkaProducer(bootstrap_servers=stand.bootstrap, max_batch_size=BATCH_BYTES)
    await producer.start()
    try:
        load = iter(Load(round(records_per_s * (WARM_UP_S + MEASURED_S))))
        started, sent = time.monotonic(), 0
        while (elapsed := time.monotonic() - started) < WARM_UP_S + MEASURED_S:
            due = round(elapsed * records_per_s) - sent
            sent += due
            await _send(producer, stand.tokens, [record for record, _ in zip(load, range(due), strict=False)])
            await asyncio.sleep(TICK_S)
    finally:
        await producer.stop()


async def _send(producer: AIOKafkaProducer, topic: str, records: list[tuple[int, bytes, bytes]]) -> None:
    now_ms = int(time.time() * 1_000)
    batches: dict[int, Any] = {number: producer.create_batch() for number in range(PARTITIONS)}
    for partition, key, value in records:
        batches[partition].append(key=key, value=value, timestamp=now_ms)
    for partition, batch in batches.items():
        if batch.record_count():
            await producer.send_batch(batch, topic, partition=partition)


async def _follow(consumer: AIOKafkaConsumer, seen: list[tuple[float, int]]) -> None:
    """Note when each record arrives and when its input was sent, in milliseconds."""
    while True:
        for records in (await consumer.getmany(timeout_ms=100)).values():
            now_ms = time.time() * 1_000
            seen += [(now_ms, record.timestamp) for record in records]
