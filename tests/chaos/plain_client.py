"""A producer and a consumer as anybody has them, to compare with: a program that imports nothing but aiokafka.

`python plain_client.py BOOTSTRAP TOPIC PARTITIONS FILE` writes chunks of answers to all partitions, a producer for
each, until it is killed; and reads them again, as a member of a group of its own. FILE gets a line of JSON for each
record that was read: partition, when it was sent, and when it came, in seconds since the epoch.

Requests have ten seconds, which is short; everything else is as aiokafka has it.
"""

import asyncio
import json
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError

PAUSE_S = 0.2
"""Between two chunks of a partition: more of them say no more of how long an outage was, which takes seconds."""

ANSWER = 20
"""Chunks of one."""

OPTIONS = {"request_timeout_ms": 10_000}


async def write(bootstrap: str, topic: str, number: int) -> None:
    """One answer after the other, into one partition."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, acks="all", **OPTIONS)
    await producer.start()
    at = 0
    while True:
        answer, seq = divmod(at, ANSWER)
        end = {"finish_reason": "stop"} if seq == ANSWER - 1 else {"delta": f"{seq} "}
        value = json.dumps({"message_id": f"m{answer}", "seq": seq, **end}).encode()
        # One that waits for room is sent again; time-outs are the client's own business, and it tries them again.
        with suppress(KafkaError):
            await producer.send(topic, value, key=b"c%d" % number, partition=number)
            at += 1
        await asyncio.sleep(PAUSE_S)


async def read(bootstrap: str, topic: str, out: TextIO) -> None:
    """Note what comes, and when."""
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, group_id="plain", auto_offset_reset="earliest", **OPTIONS
    )
    await consumer.start()
    while True:
        found: dict[Any, list[Any]] = {}
        with suppress(KafkaError):
            found = await consumer.getmany(timeout_ms=200)
        now = time.time()
        for place, records in found.items():
            out.writelines(json.dumps([place.partition, record.timestamp / 1000, now]) + "\n" for record in records)


async def main(bootstrap: str, topic: str, partitions: int, out: TextIO) -> None:
    """Do both until the end."""
    await asyncio.gather(read(bootstrap, topic, out), *(write(bootstrap, topic, each) for each in range(partitions)))


if __name__ == "__main__":
    _, servers, name, count, path = sys.argv
    with Path(path).open("w", buffering=1) as lines:
        asyncio.run(main(servers, name, int(count), lines))
