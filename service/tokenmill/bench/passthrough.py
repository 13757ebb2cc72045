"""The reference of the pipeline benchmark: the least that a Kafka consumer and producer in Python can do.

Consume, append one record of a fixed size per input to a record batch of the same partition, send the batches, and
commit at an interval once everything sent is acknowledged. Run as `python -m tokenmill.bench.passthrough JSON`.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
import uvloop
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition

from tokenmill.servers.process import Server

POLL_MS = 50
STARTED = "passing through"


class Job(msgspec.Struct, frozen=True):
    """What to pass through, and how."""

    bootstrap: str
    group: str
    source: str
    target: str
    value_bytes: int
    commit_interval_s: float
    batch_bytes: int = 256 * 1024


async def pass_through(job: Job) -> None:
    """Copy until killed."""
    print(STARTED, flush=True)
    consumer = AIOKafkaConsumer(
        job.source,
        bootstrap_servers=job.bootstrap,
        group_id=job.group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        fetch_max_wait_ms=POLL_MS,
    )
    producer = AIOKafkaProducer(
        bootstrap_servers=job.bootstrap, enable_idempotence=True, max_batch_size=job.batch_bytes
    )
    await consumer.start()
    await producer.start()
    value = b"x" * job.value_bytes
    sent: list[asyncio.Future[Any]] = []
    offsets: dict[TopicPartition, int] = {}
    committed_at = monotonic()
    while True:
        for partition, records in (await consumer.getmany(timeout_ms=POLL_MS)).items():
            sent += await _send(producer, job.target, partition.partition, records, value)
            offsets[partition] = records[-1].offset + 1
        if offsets and monotonic() - committed_at >= job.commit_interval_s:
            await asyncio.gather(*sent)
            await consumer.commit(offsets)
            sent, offsets, committed_at = [], {}, monotonic()


async def _send(
    producer: AIOKafkaProducer, target: str, partition: int, records: list[ConsumerRecord], value: bytes
) -> list[asyncio.Future[Any]]:
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

    def __init__(self, folder: Path, job: Job) -> None:
        super().__init__(folder)
        self._job = job

    def command(self) -> Sequence[str]:
        return [sys.executable, "-m", "tokenmill.bench.passthrough", msgspec.json.encode(self._job).decode()]

    def ready(self) -> bool:
        return STARTED.encode() in self.log.read_bytes()


if __name__ == "__main__":
    uvloop.run(pass_through(msgspec.json.decode(sys.argv[1], type=Job)))
