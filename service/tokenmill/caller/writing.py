"""Chunks of one answer on their way to `tokens`: numbered, in order, and written again where Kafka refused them.

Rules of this file:

1. Each choice has its own numbers, from the first of the writer's range. The first writer's begins at 0; each that
   takes over an answer has the next range, so what the one before still sends is taken for repeats.
2. A refused record may have been written all the same, and so may those behind it. All that is not acknowledged is
   written again, in order: chunks with a number count once.
3. It goes no faster than Kafka takes it, and goes on trying for as long as the answer has time.
4. Up to its first token an answer goes by a producer that has little to do, as each has one batch on its way: it would
   wait for other answers' tokens. What follows goes by the other one once that is acknowledged, so the order stays.
5. Its partition is that of its first record, signs of life included: where a topic grows meanwhile, the rest of the
   message would be orphaned on another one.
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
"""Numbers of one writer: a chunk is a token or so, and no answer has a million."""

RANGES = 10_000
"""Of one answer: each but the first has waited for a lease, and no answer has time for as many. What comes in a later
one is no caller's; to go on behind it would need numbers that no record can have."""

SIGN_RANGE = "tm-range"
"""Header of a sign of life: the range of who gives it. One who was overtaken, and does not know it, must not be taken
for who has the answer now. It is no member of the chunk, which says nothing to the worker."""

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
        """`attempt`: the number of its range. `native`: records of the topic are native ones without saying so.
        `first`: the producer up to the first token, if it is another one.
        """
        self._producer = first or producer
        self._next = None if self._producer is producer else producer
        """Who writes what follows the first token."""
        self._begun = False
        """The first token has been written."""
        self._topic = topic
        self._key = conversation.encode()
        self._message_id = message_id
        self._attempt = attempt
        self._numbers: Counter[int] = Counter()
        self._headers: Headers = [] if native else [NATIVE]
        self._writer = PipelinedWriter(self._producer, topic, self._key)
        self._unacknowledged: deque[tuple[bytes, Headers]] = deque()
        self._accepted = 0
        self._handed = 0
        """Number of unacknowledged chunks that the producer has."""
        self.written_at = asyncio.get_running_loop().time()
        """Time when a record was last handed over, in the loop's seconds."""

    async def open(self, options: dict[str, Any], choices: int, further: Headers = ()) -> None:
        """Open all choices, or go on with those that the writer before opened. `further` headers are on these alone.

        Raises `Refused` for what is larger than Kafka takes.
        """
        resumes = True if self._attempt else None
        for choice in range(choices):
            await self._put(Chunk(open=options, resumes=resumes), choice, [*self._headers, *further])

    async def put(self, chunk: Chunk) -> None:
        """What a codec made of the model's answer, under our names and numbers. Raises `Refused` as `open` does."""
        await self._put(chunk, choice_index(chunk), self._headers, conversation_id=None, open=None, model=None)

    async def fail(self, message: str, status: int, raw: str, choices: int) -> None:
        """End every choice as one that failed. It does no harm to those that have ended."""
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
        """A sign of life, without a number: it changes nothing, and nobody need wait for it."""
        value = msgspec.json.encode({"message_id": self._message_id})
        headers = [*self._headers, (SIGN_RANGE, b"%d" % self._attempt)]
        try:
            partition = self._writer.partition
            if partition is None:
                partition = await self._producer.partition(self._topic, self._key)
            await self._producer.put(self._topic, partition, self._key, value, headers)
        except Refused as problem:
            log.info("a sign of life was not written: %s", problem.detail)
        else:
            self.written_at = asyncio.get_running_loop().time()

    async def cancel(self) -> None:
        """Have the worker end the message, which is open, as one that was stopped, and wait until that is in the log.

        Raises `Refused`.
        """
        value = msgspec.json.encode(Chunk(message_id=self._message_id, control="cancel"))
        partition = self._writer.partition
        assert partition is not None  # noqa: S101 -- the message is open
        sent = await self._producer.put(self._topic, partition, self._key, value, self._headers)
        await sent.placed()

    async def acknowledged(self) -> None:
        """Wait until everything is in the log."""
        while self._unacknowledged:
            await self._hand_over()
            try:
                await self._writer.acknowledged()
            except Refused as problem:
                await self._begin_again(problem)
            self._forget()

    async def _put(self, chunk: Chunk, choice: int, headers: Headers, **others: None) -> None:
        """A chunk with our names in place of its own, and `others`. One copy of it: there is one for each token."""
        if self._begun and self._next is not None:
            await self._go_over(self._next)
        number = self._attempt * RANGE + self._numbers[choice]
        named = msgspec.structs.replace(
            chunk, message_id=self._message_id, choice=choice or msgspec.UNSET, seq=number, **others
        )
        self._unacknowledged.append((msgspec.json.encode(named), headers))
        self._numbers[choice] += 1
        try:
            await self._hand_over()
        except BaseException:  # too large, or cancelled: it was not written, and its number is free
            self._unacknowledged.pop()
            self._numbers[choice] -= 1
            raise
        self.written_at = asyncio.get_running_loop().time()
        self._begun = self._begun or has_content(chunk)

    async def _go_over(self, producer: RecordProducer) -> None:
        """From here on records go by another producer."""
        await self.acknowledged()
        self._producer, self._next = producer, None
        self._send_anew()

    def _send_anew(self) -> None:
        """To the partition that the first record went to, by whoever writes now."""
        self._writer = PipelinedWriter(self._producer, self._topic, self._key, self._writer.partition)
        self._accepted = 0

    async def _hand_over(self) -> None:
        """What the producer does not have yet, in order; if that is cancelled, the next call goes on with it.

        Raises `Refused` for a record that is too large, which can only be a new one: Kafka never takes it.
        """
        while self._handed < len(self._unacknowledged):
            value, headers = self._unacknowledged[self._handed]
            try:
                await self._writer.put(value, headers)
            except Refused as problem:
                if problem.kind is TOO_LARGE:
                    raise
                await self._begin_again(problem)
            else:
                self._handed += 1
                self._forget()

    def _forget(self) -> None:
        """What is acknowledged: the first ones that were put."""
        for _ in range(self._writer.accepted - self._accepted):
            self._unacknowledged.popleft()
            self._handed -= 1
        self._accepted = self._writer.accepted

    async def _begin_again(self, problem: Refused) -> None:
        """All that is not acknowledged is to be handed over once more, after a pause."""
        log.warning("chunks of an answer are written again: %s", problem.detail)
        await self._writer.settled()
        self._forget()
        self._handed = 0
        self._send_anew()
        await asyncio.sleep(AGAIN_S)
