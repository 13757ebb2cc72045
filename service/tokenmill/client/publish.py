"""Publishes messages as native chunks, each with its `seq`, so that the worker notices losses and repeats."""

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from aiokafka import AIOKafkaProducer
from aiokafka.errors import MessageSizeTooLargeError, ProducerClosed

from tokenmill.client.connection import Connection, unavailable
from tokenmill.dialects.json_text import json_bytes
from tokenmill.errors import Unavailable
from tokenmill.kafka.calls import started, stopped, stopped_on_failure
from tokenmill.kafka.clients import BATCH_BYTES, Admin, with_batches
from tokenmill.kafka.topics import USUAL_BATCH, accepted_bytes

START_DEADLINE_S = 30.0
"""Seconds for connecting."""
TOPIC_DEADLINE_S = 10.0
"""Seconds for finding the topic, which a broker may create when it is first asked for."""
FLUSH_DEADLINE_S = 60.0
"""Seconds for which a flush waits for acknowledgements."""
FAILURES = 10_000
"""Keys whose errors are kept until they are raised: the newest ones. Of the others only the very first error is."""


class Publisher:
    """Writes records to the topic of chunks. Keys choose the partition by murmur2, as in the Java client.

        async with Publisher(Connection("localhost:9092")) as publisher:
            message = publisher.message("conversation-7", open={"format": "hermes", "tools": tools})
            async for text in model:
                await message.text(text)
            await message.finish("stop")

    Sending does not wait for the broker's acknowledgement; `flush` does, and so do `finish` and the end of the block.
    Raises `Unavailable` if the topic does not exist, and if Kafka refuses a record or does not answer. After a refusal,
    the next call for the record's key raises, or `flush` without a key. Records sent meanwhile to the same partition,
    also those of other keys, may be refused with it: then the next call for each of these keys raises. Later records
    are sent. If records of 10,000 more keys are refused before that next call, only `flush` without a key raises.
    """

    def __init__(self, connection: Connection | None = None, *, topic: str = "tokens") -> None:
        self.connection = connection or Connection()
        self.topic = topic
        self._producer: AIOKafkaProducer | None = None
        self._largest = USUAL_BATCH
        self._pending: dict[tuple[str, int | None], asyncio.Future[Any]] = {}
        """The acknowledgement of the last record by key and partition, which comes after those of earlier records."""
        self._failures: dict[str, BaseException] = {}
        """The first error of each key that has not been raised yet."""
        self._first_failure: BaseException | None = None
        """The first error that has not been raised of keys that are forgotten."""
        self._broken = False
        """Whether a record was refused: an idempotent producer numbers its records, and can send none after that."""
        self._replacing = asyncio.Lock()

    async def __aenter__(self) -> Self:
        async with Admin(self.connection.arguments()) as admin:
            self._largest = (await accepted_bytes(admin, [self.topic]))[self.topic]
        self._producer = await started(self._client, self.connection.connecting, START_DEADLINE_S)
        async with stopped_on_failure(self._producer):
            await self._find_topic(self._producer)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if problem is None:
                await self.flush()
        finally:
            async with self._replacing:
                producer, self._producer = self._producer, None
            if producer is not None:
                await stopped(producer)

    async def _find_topic(self, producer: AIOKafkaProducer) -> None:
        with unavailable(f"find the topic {self.topic!r} (`tokenmill topics create` creates it)"):
            async with asyncio.timeout(TOPIC_DEADLINE_S):
                await producer.partitions_for(self.topic)

    def _client(self) -> AIOKafkaProducer:
        # aiokafka's default partitioner is murmur2, as in the Java client; idempotence keeps a partition's order.
        options = {"max_request_size": self._largest, **self.connection.producing()}
        return AIOKafkaProducer(enable_idempotence=True, **with_batches(options, min(BATCH_BYTES, self._largest)))

    def message(
        self,
        conversation_id: str,
        message_id: str | None = None,
        *,
        choice: int = 0,
        open: Mapping[str, Any] | None = None,  # noqa: A002 -- the field's name in a chunk
    ) -> "MessagePublisher":
        """Return a new message. `open` has its options; without `message_id` it gets a random one."""
        return MessagePublisher(self, conversation_id, message_id or uuid4().hex, choice=choice, open=open)

    async def send(
        self,
        key: str,
        value: bytes | None,
        headers: Iterable[tuple[str, bytes]] = (),
        *,
        partition: int | None = None,
    ) -> None:
        """Send one record as it is, without waiting for its acknowledgement. Raises `Unavailable`.

        Without `partition` the key chooses it.
        """
        record = {"value": value, "key": key.encode(), "headers": list(headers), "partition": partition}
        while True:
            if self._broken:
                await self._replace()
            self._raise_failure(key)
            if (producer := self._producer) is None:
                raise RuntimeError("a Publisher can send only inside its `async with` block")
            with unavailable(f"publish to {self.topic!r}"):
                try:
                    future = await producer.send(self.topic, **record)
                    break
                except MessageSizeTooLargeError as problem:
                    limit = f"{self.topic!r} takes {self._largest} bytes, its max.message.bytes"
                    raise Unavailable(f"Kafka: publish: the record is too long: {limit}") from problem
                except ProducerClosed:  # it was closed while this record waited for room
                    if producer is self._producer and not self._broken:
                        raise  # it will not be replaced
        place = key, partition
        self._pending[place] = future
        future.add_done_callback(partial(self._settle, place))

    async def flush(self, key: str | None = None) -> None:
        """Wait until all records sent so far are acknowledged. Raises `Unavailable`.

        With `key`, only its records count, without those that were sent with a `partition`.
        """
        pending = self._pending.values() if key is None else filter(None, [self._pending.get((key, None))])
        if waited := set(pending):
            with unavailable(f"acknowledge what was published to {self.topic!r}"):
                async with asyncio.timeout(FLUSH_DEADLINE_S):
                    await asyncio.wait(waited)
        self._raise_failure(key)

    async def _replace(self) -> None:
        async with self._replacing:
            if self._broken and self._producer is not None:
                await stopped(self._producer)
                self._producer = await started(self._client, self.connection.connecting, START_DEADLINE_S)
                self._broken = False

    def _settle(self, place: tuple[str, int | None], future: asyncio.Future[Any]) -> None:
        if self._pending.get(place) is future:
            del self._pending[place]
        if not future.cancelled() and (problem := future.exception()) is not None:
            self._broken = True
            self._failures.setdefault(place[0], problem)
            if len(self._failures) > FAILURES:  # that key may never be used again
                forgotten = self._failures.pop(next(iter(self._failures)))
                self._first_failure = self._first_failure or forgotten

    def _raise_failure(self, key: str | None) -> None:
        """Raise a key's error, or the first one of any key, once. Errors of other keys are kept."""
        if key is not None:
            problem = self._failures.pop(key, None)
        elif self._first_failure is not None:
            problem, self._first_failure = self._first_failure, None
        else:
            problem = self._failures.pop(next(iter(self._failures)), None) if self._failures else None
        if problem is not None:
            with unavailable(f"publish to {self.topic!r}"):
                raise problem


class MessagePublisher:
    """Publishes the chunks of one choice of a message, in order. Made by `Publisher.message`."""

    def __init__(
        self,
        publisher: Publisher,
        conversation_id: str,
        message_id: str,
        *,
        choice: int,
        open: Mapping[str, Any] | None,  # noqa: A002 -- the field's name in a chunk
    ) -> None:
        self.conversation_id = conversation_id
        self.message_id = message_id
        self.choice = choice
        self._publisher = publisher
        self._open = {"open": dict(open)} if open else {}
        self._seq = 0
        self._writing = asyncio.Lock()
        """Held while a chunk gets its number and is sent: several tasks may write to one message."""

    async def text(self, delta: str) -> None:
        """Publish more text, as the model wrote it; the worker parses it by the message's format."""
        await self.chunk({"delta": delta})

    async def reasoning(self, delta: str) -> None:
        """Publish more reasoning, which the provider has already separated."""
        await self.chunk({"reasoning": delta})

    async def finish(self, reason: str = "stop", usage: Mapping[str, Any] | None = None) -> None:
        """End the message, and wait until all of it is acknowledged. `usage` are token counts, as the provider gave
        them.
        """
        counts = {"usage": dict(usage)} if usage else {}
        await self.chunk({**counts, "finish_reason": reason, "end": True})
        await self._publisher.flush(self.conversation_id)

    async def cancel(self) -> None:
        """End the message early, as `cancelled`, and wait for the acknowledgement."""
        await self.chunk({"control": "cancel"})
        await self._publisher.flush(self.conversation_id)

    async def chunk(self, fields: Mapping[str, Any]) -> None:
        """Publish a chunk with any fields of the native codec, and the message's ids and `seq`."""
        async with self._writing:
            identity = {"conversation_id": self.conversation_id, "message_id": self.message_id, "seq": self._seq}
            choice = {"choice": self.choice} if self.choice else {}
            value = json_bytes({**identity, **choice, **self._open, **fields})
            # The topic's codec may be another one.
            await self._publisher.send(self.conversation_id, value, [("tm-codec", b"native")])
            self._open = {}
            self._seq += 1
