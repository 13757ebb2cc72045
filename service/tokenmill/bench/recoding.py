"""The floor of the pipeline benchmark: the pass-through with the contract's JSON and headers, and nothing else.

It reads each chunk into a struct, numbers it, and writes it as an event with its three headers, by the fastest means
that a worker has. It parses nothing, keeps no order, knows no repeats, and can't be recovered: what it costs beyond the
pass-through is what any worker in Python pays before it does any of that. Run as
`python -m tokenmill.bench.recoding JSON`.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import uvloop
from aiokafka import AIOKafkaProducer, ConsumerRecord

from tokenmill.bench.passthrough import Job, PassThrough, pass_through
from tokenmill.kafka.batches import Batch

EVENT = b'{"type":"text-delta","id":"t0","delta":%b,"conversation_id":"%b","message_id":"%b","seq":%d,"time":%d}'
"""Template of an event, without escapes, as the load's names need none."""


class Chunk(msgspec.Struct):
    """A chunk of the load."""

    message_id: str
    seq: int
    delta: str = ""
    finish_reason: str = ""


class Recoder:
    """Writes chunks as events."""

    def __init__(self) -> None:
        self._numbers = Counter[bytes]()
        """Number of events of each conversation."""

    async def send(
        self, producer: AIOKafkaProducer, target: str, partition: int, records: Sequence[ConsumerRecord]
    ) -> list[asyncio.Future[Any]]:
        """Publish a batch, as the pass-through does."""
        sent, batch = list[asyncio.Future[Any]](), Batch(producer.create_batch())
        decode, encode, numbers = msgspec.json.Decoder(Chunk).decode, msgspec.json.Encoder().encode, self._numbers
        for record in records:
            chunk, key, time = decode(record.value), record.key, record.timestamp
            number, numbers[key] = numbers[key], numbers[key] + 1
            message = chunk.message_id.encode()
            value = EVENT % (encode(chunk.delta), key, message, number, time)
            headers = [("tm-message-id", message), ("tm-seq", b"%d" % number), ("tm-opened", b"%d" % time)]
            if batch.append(batch.records, time, key, value, headers) is None:
                batch.close()
                sent.append(await producer.send_batch(batch.client, target, partition=partition))
                batch = Batch(producer.create_batch())
                batch.append(0, time, key, value, headers)
            batch.records += 1
        batch.close()
        sent.append(await producer.send_batch(batch.client, target, partition=partition))
        return sent


class Recoding(PassThrough):
    """Re-encoding as a child process."""

    name = "the re-encoding"
    module = "tokenmill.bench.recoding"


if __name__ == "__main__":
    uvloop.run(pass_through(msgspec.json.decode(sys.argv[1], type=Job), Recoder().send))
