"""The floor of exactly-once: the pass-through with one transactional producer for each partition, and nothing between.

Records that come during a partition's transaction are in its next one, as in a worker; partitions are independent. It
parses nothing and can't be recovered: its records wait as long as those of any consumer on this client and broker. Run
as `python -m tokenmill.bench.transacting JSON`.
"""

import asyncio
import sys
from functools import partial

import msgspec
import uvloop
from aiokafka import AIOKafkaProducer, ConsumerRecord, TopicPartition

from tokenmill.bench.passthrough import POLL_MS, STARTED, Job, PassThrough, Send, made_consumer, send_same
from tokenmill.kafka.aiokafka_inside import try_again_after
from tokenmill.kafka.transaction import MARKERS_S


async def pass_in_transactions(job: Job, send: Send) -> None:
    """Copy until killed, or until a transaction fails."""
    try_again_after(MARKERS_S)  # as a worker: the client's own pause is five times as long
    print(STARTED, flush=True)
    consumer = made_consumer(job)
    await consumer.start()
    inboxes: dict[TopicPartition, asyncio.Queue[list[ConsumerRecord]]] = {}
    async with asyncio.TaskGroup() as tasks:
        while True:
            for place, records in (await consumer.getmany(timeout_ms=POLL_MS)).items():
                if place not in inboxes:
                    inboxes[place] = asyncio.Queue()
                    tasks.create_task(_transact(job, send, place, inboxes[place]))
                inboxes[place].put_nowait(records)


async def _transact(job: Job, send: Send, place: TopicPartition, inbox: "asyncio.Queue[list[ConsumerRecord]]") -> None:
    """Run one transaction after the other, each with all records that have come."""
    producer = AIOKafkaProducer(
        bootstrap_servers=job.bootstrap,
        transactional_id=f"{job.group}-{place.partition}",
        max_batch_size=job.batch_bytes,
    )
    await producer.start()
    await producer.begin_transaction()
    while True:
        records = await inbox.get()
        while not inbox.empty():
            records += inbox.get_nowait()
        await asyncio.gather(*await send(producer, job.target, place.partition, records))
        await producer.send_offsets_to_transaction({place: records[-1].offset + 1}, job.group)
        await producer.commit_transaction()
        await producer.begin_transaction()


class Transacting(PassThrough):
    """This floor as a child process."""

    name = "the pass-through in transactions"
    module = "tokenmill.bench.transacting"


if __name__ == "__main__":
    job = msgspec.json.decode(sys.argv[1], type=Job)
    uvloop.run(pass_in_transactions(job, partial(send_same, b"x" * job.value_bytes)))
