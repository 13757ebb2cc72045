"""The reference of the pipeline benchmark: the least that a Kafka consumer and producer in Python can do.

Consume, append one record of a fixed size per input to a record batch of the same partition, send the batches, and
commit at an interval once everything sent is acknowledged. Run as `python -m tokenmill.bench.passthrough JSON`.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias

import msgspec
import uvloop
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition

from tokenmill.servers.process import Server

POLL_MS = 50
STARTED = "passing through"


class Job(msgspec.Struct, frozen=True):
    """Input, output and settings."""

    bootstrap: str
    group: str
    source: str
    target: str
    value_bytes: int
    commit_interval_s: float
    batch_bytes: int = 256 * 1024


Send: TypeAlias = Callable[[AIOKafkaProducer, str, int, Sequence[ConsumerRecord]], Awaitable[list[asyncio.Future[Any]]]]
"""Sends one record for each of a partition's records to the same partition of a topic."""


async def pass_through(job: Job, send: Send) -> None:
    """Copy until killed."""
    print(STARTED, flush=True)
    consumer = made_consumer(job)
    producer = AIOKafkaProducer(
        bootstrap_servers=job.bootstrap, enable_idempotence=True, max_batch_size=job.batch_bytes
    )
    await consumer.start()
    await producer.start()
    sent: list[asyncio.Future[Any]] = []
    offsets: dict[TopicPartition, int] = {}
    committed_at = monotonic()
    while True:
        for partition, records in (await consumer.getmany(timeout_ms=POLL_MS)).items():
            sent += await send(producer, job.target, partition.partition, records)
            offsets[partition] = records[-1].offset + 1
        if offsets and monotonic() - committed_at >= job.commit_interval_s:
            await asyncio.gather(*sent)
            await consumer.commit(offsets)
            sent, offsets, committed_at = [], {}, monotonic()


def made_consumer(job: Job) -> AIOKafkaConsumer:
    """Return a reader of committed records, from the beginning, that commits nothing by itself."""
    return AIOKafkaConsumer(
        job.source,
        bootstrap_servers=job.bootstrap,
        group_id=job.group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        fetch_max_wait_ms=POLL_MS,
    )


async def send_same(
    value: bytes, producer: AIOKafkaProducer, target: str, partition: int, records: Sequence[ConsumerRecord]
) -> list[asyncio.Future[Any]]:
    """Send the same value for all."""
    sent = []
    batch = producer.create_batch()
    for record in records:
        if batch.append(key=record.key, value=value, timestamp=record.timestamp) is None:
            sent.append(await producer.send_batch(batch, target, partition=partition))
            batch = producer.create_batch()
            batch.append(key=record.key, value=value, timestamp=record.timestamp)
    sent.append(await producer.send_batch(batch, target, partition=partition))
    return sent


class PassThrough(Server):
    """The reference as a child process."""

    name = "the pass-through"
    module = "tokenmill.bench.passthrough"

    def __init__(self, folder: Path, job: Job) -> None:
        super().__init__(folder)
        self._job = job

    def command(self) -> Sequence[str]:
        return [sys.executable, "-m", self.module, msgspec.json.encode(self._job).decode()]

    def ready(self) -> bool:
        return STARTED.encode() in self.log.read_bytes()


if __name__ == "__main__":
    job = msgspec.json.decode(sys.argv[1], type=Job)
    uvloop.run(pass_through(job, partial(send_same, b"x" * job.value_bytes)))
