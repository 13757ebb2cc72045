"""Writes the chunks of one answer to `tokens`: numbered, in order, and again if Kafka refused them.

Rules of this file:

1. Each choice has its own numbers, from the first of the writer's range. The first writer's range begins at 0; each
   writer that takes an answer over has the next range, so that workers drop later records of the previous one as
   repeats.
2. A refused record may be in the log nevertheless, and so may those after it. All records that are not acknowledged are
   written again, in order: a chunk with the same number counts once.
3. A writer goes no faster than Kafka takes records, and repeats them for as long as the answer has time.
4. Each producer has one batch on its way to a broker, so an answer's first records would wait for other answers'
   tokens. Up to the first token they go by a producer that has little to do. Later records go by the other one once
   those are acknowledged, which keeps the order.
5. All records of the message, signs of life included, go to the partition of the first one: if the topic grows
   meanwhile, later records would be orphans on another partition.
"""

import asyncio
import logging
from collections import Counter, deque
from typing import Any

import msgspec

from tokenmill.codecs import Chunk
from tokenmill.gateway.ingest.native_chunks import NATIVE
from tokenmill.gateway.ingest.pipelined_writer import PipelinedWriter, RecordProducer
from tokenmill.gateway.problems import TOO_LARGE, Refused
from tokenmill.partition.identity import choice_index, has_content
from tokenmill.records import Headers

log = logging.getLogger(__name__)

RANGE = 1_000_000
"""Numbers in one range: a chunk is about a token, and no answer has a million."""

RANGES = 10_000
"""Ranges of one answer: each but the first begins after a lease, and no answer has time for as many. A record in a
later range is not a caller's; a takeover after it would need numbers that are too large for a record."""

SIGN_RANGE = "tm-range"
"""Header of a sign of life with the number of its writer's range: a writer that was overtaken, and has not learned of
it, must not count as alive. It is a header because the chunk itself means nothing to the worker."""

AGAIN_S = 0.5
"""Seconds before records that Kafka refused are written again."""


class ChunkWriter:
    """Writes the chunks of one message."""

    def __init__(
        self,
        producer: RecordProducer,
        topic: str,
        conversation: str,
        message_id: str,
        *,
        attempt: int = 0,
        native: bool = True,
        first: RecordProducer | None = None,
    ) -> None:
        """`attempt` is the number of the writer's range. `native` is whether records of the topic have the native codec
        without a `tm-codec`. `first` is the producer for records up to the first token, if that is another one.
        """
        self._producer = first or producer
        self._later_producer = None if self._producer is producer else producer
        """The producer to switch to after the first token; None after the switch."""
        self._begun = False
        """Whether the first token was written."""
        self._topic = topic
        self._key = conversation.encode()
        self._message_id = message_id
        self._attempt = attempt
        self._numbers: Counter[int] = Counter()
        self._headers: Headers = [] if native else [NATIVE]
        self._writer = PipelinedWriter(self._producer, topic, self._key)
        self._unacknowledged: deque[tuple[bytes, Headers]] = deque()
        self._accepted = 0
        """Number of acknowledged records of the pipelined writer that were dropped from `_unacknowledged`."""
        self._handed = 0
        """Number of unacknowledged records that were handed to the producer."""
        self.written_at = asyncio.get_running_loop().time()
        """When a record was last handed to the producer, in the loop's seconds."""

    async def open(self, options: dict[str, Any], choices: int, further: Headers = ()) -> None:
        """Open all choices, or take over those that an earlier writer opened.

        Only these records have the `further` headers. Raises `Refused` for a record that is larger than Kafka takes.
        """
        resumes = True if self._attempt else None
        for choice in range(choices):
            await self._put(Chunk(open=options, resumes=resumes), choice, [*self._headers, *further])

    async def put(self, chunk: Chunk) -> None:
        """Write a chunk of a codec with our ids and number in place of its own. Raises `Refused` as `open` does."""
        await self._put(chunk, choice_index(chunk), self._headers, conversation_id=None, open=None, model=None)

    async def fail(self, message: str, status: int, raw: str, choices: int) -> None:
        """End every choice with an error, whose `raw` may be empty. Choices that have ended are not affected."""
        for choice in range(choices):
            end = Chunk(
                choice=choice,
                error=message,
                error_status=status,
                error_raw=raw or None,
                finish_reason="error",
                end=True,
            )
            await self.put(end)

    async def beat(self) -> None:
        """Write a sign of life: a chunk without content and number.

        It is not waited for, and a failure is only logged.
        """
        value = msgspec.json.encode({"message_id": self._message_id})
        headers = [*self._headers, (SIGN_RANGE, b"%d" % self._attempt)]
        try:
            partition = self._writer.partition
            if partition is None:
                partition = await self._producer.partition(self._topic, self._key)
            await self._producer.put(self._topic, partition, self._key, value, headers)
        except Refused as problem:
            log.info("a sign of life was not written; the next one follows: %s", problem.detail)
        else:
            self.written_at = asyncio.get_running_loop().time()

    async def cancel(self) -> None:
        """Write the stop by which the worker ends the message, which must be open. Wait until it is acknowledged.

        Raises `Refused`.
        """
        value = msgspec.json.encode(Chunk(message_id=self._message_id, control="cancel"))
        partition = self._writer.partition
        assert partition is not None  # noqa: S101 -- the message is open
        sent = await self._producer.put(self._topic, partition, self._key, value, self._headers)
        await sent.placed()

    async def acknowledged(self) -> None:
        """Wait until all records are acknowledged. Refused ones are written again, so this may take for ever."""
        while self._unacknowledged:
            await self._hand_over()
            try:
                await self._writer.acknowledged()
            except Refused as problem:
                await self._write_again(problem)
            self._drop_acknowledged()

    async def _put(self, chunk: Chunk, choice: int, headers: Headers, **others: None) -> None:
        """Write a copy of a chunk with our ids and number, and `others`. It is the only copy, as each token has a
        chunk.
        """
        if self._begun and self._later_producer is not None:
            await self._switch_to(self._later_producer)
        number = self._attempt * RANGE + self._numbers[choice]
        named = msgspec.structs.replace(
            chunk, message_id=self._message_id, choice=choice or msgspec.UNSET, seq=number, **others
        )
        self._unacknowledged.append((msgspec.json.encode(named), headers))
        self._numbers[choice] += 1
        try:
            await self._hand_over()
        except BaseException:  # too large, or cancelled: it was not written, so its number can be used again
            self._unacknowledged.pop()
            self._numbers[choice] -= 1
            raise
        self.written_at = asyncio.get_running_loop().time()
        self._begun = self._begun or has_content(chunk)

    async def _switch_to(self, producer: RecordProducer) -> None:
        """Write later records by another producer."""
        await self.acknowledged()
        self._producer, self._later_producer = producer, None
        self._renew_writer()

    def _renew_writer(self) -> None:
        """Replace the pipelined writer by one of the current producer, with the partition of the first record."""
        self._writer = PipelinedWriter(self._producer, self._topic, self._key, self._writer.partition)
        self._accepted = 0

    async def _hand_over(self) -> None:
        """Hand the producer the records that it does not have yet, in order. If cancelled, the next call continues.

        Raises `Refused` for a record that is too large for Kafka, which can only be a new one.
        """
        while self._handed < len(self._unacknowledged):
            value, headers = self._unacknowledged[self._handed]
            try:
                await self._writer.put(value, headers)
            except Refused as problem:
                if problem.kind is TOO_LARGE:
                    raise
                await self._write_again(problem)
            else:
                self._handed += 1
                self._drop_acknowledged()

    def _drop_acknowledged(self) -> None:
        """Drop the records that were acknowledged, which are always the first ones."""
        for _ in range(self._writer.accepted - self._accepted):
            self._unacknowledged.popleft()
            self._handed -= 1
        self._accepted = self._writer.accepted

    async def _write_again(self, problem: Refused) -> None:
        """Have all unacknowledged records handed over again, after a pause."""
        log.warning("writing chunks of an answer again that Kafka refused: %s", problem.detail)
        await self._writer.settled()
        self._drop_acknowledged()
        self._handed = 0
        self._renew_writer()
        await asyncio.sleep(AGAIN_S)
