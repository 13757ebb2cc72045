"""Dead letters: reads them without a consumer group, and publishes their records again.

Rules of a replay:

1. A record goes back to the topic and partition that it came from, with its key, value and own headers; on request, its
   key chooses the partition, or it goes to another topic. Its timestamp is new: the old one could be beyond the idle
   timeout, or the topic's retention.
2. It has the header `tm-replayed`, which names the dead letter. If it fails again, the new dead letter has that header,
   too, and is replayed only on request.
3. A record and its receipt are published in one transaction. A receipt is a record without a value on the dead-letter
   topic, in the dead letter's partition; its header `tm-receipt` is the dead letter's offset. A dead letter with a
   receipt is not replayed again, for as long as the topic holds both. Only one replay of a topic runs at a time: the
   next one fences it, and only then reads the receipts.
4. A dead letter whose value was left out because it was too large is refused. So is one with neither key nor value: the
   Kafka client can't send such a record, and it contains nothing. One whose topic or partition does not exist is
   refused until it does.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import Literal, Self, TypeAlias

import msgspec
from aiokafka import AIOKafkaProducer
from aiokafka.cluster import ClusterMetadata
from aiokafka.errors import IllegalOperation

from tokenmill.client.connection import Connection, unavailable
from tokenmill.client.follow import START_DEADLINE_S, Follower
from tokenmill.errors import FatalError, Unavailable
from tokenmill.kafka.calls import deadline, started, stopped, stopped_on_failure
from tokenmill.kafka.clients import with_batches
from tokenmill.kafka.topics import Progress
from tokenmill.limits import KIB, MIB
from tokenmill.records import Headers, PlacedRecord, header
from tokenmill.tasks import looked_at

REPLAYED = "tm-replayed"
"""Header of a record that was published again: `<partition>-<offset>` of its dead letter."""

RECEIPT = "tm-receipt"
"""Header of a receipt: the offset, in the same partition, of a dead letter that was replayed."""

REASON = frozenset({"tm-error-code", "tm-error", "tm-source-topic", "tm-source-partition", "tm-source-offset"})
"""Headers that the worker adds to a dead letter."""

BATCH_BYTES = 16 * KIB
"""Bytes of the largest record batch, aiokafka's default: every topic takes it."""

BATCH = 100
"""Records of one transaction: few enough to fit into memory even if each has the greatest length."""

TRANSACTION_BYTES = 4 * MIB
"""Bytes of keys and values at which a transaction takes no more records. With one more record of 1 MiB it needs
512 KiB a second to be done in `TRANSACTION_S`, which a slow line from outside the cluster manages."""

TRANSACTION_S = 10.0
"""Seconds for one transaction, including its acknowledgements. If this process is killed, the broker aborts the
transaction after the same time: until then, workers see no later records on its partitions."""

ABORT_S = 5.0
"""Seconds for aborting a transaction that failed."""

State: TypeAlias = Literal["new", "failed again", "replayed", "truncated", "empty", "no source"]

REFUSED: Sequence[State] = ("truncated", "empty", "no source")
"""States of dead letters that can't be replayed, even on request."""


class Source(msgspec.Struct, frozen=True):
    """The place of a rejected record in the input."""

    topic: str
    partition: int
    offset: int


class DeadLetter(msgspec.Struct, frozen=True):
    """A record of the dead-letter topic."""

    record: PlacedRecord
    code: str
    error: str
    source: Source | None
    """The place of the rejected record; None if the headers lack it."""
    state: State
    """Whether it is replayed: `new` is, `failed again` is on request, the others are not."""

    @property
    def name(self) -> str:
        """Its place on the dead-letter topic, as `<partition>-<offset>`."""
        return f"{self.record.partition}-{self.record.offset}"

    @property
    def size(self) -> int:
        """Bytes of key and value."""
        return len(self.record.key or b"") + len(self.record.value or b"")

    @property
    def headers(self) -> Headers:
        """The headers of the rejected record, without those of the worker."""
        return [(name, value) for name, value in self.record.headers if name not in REASON]


def is_full(letters: Sequence[DeadLetter]) -> bool:
    """Whether one transaction takes no more dead letters than these."""
    return len(letters) >= BATCH or sum(letter.size for letter in letters) >= TRANSACTION_BYTES


class Selection(msgspec.Struct, frozen=True):
    """A selection of dead letters, by all fields that are set."""

    codes: Sequence[str] = ()
    """Error codes; empty: all."""
    topic: str | None = None
    """Topic of the rejected record; None: all."""
    partition: int | None = None
    """Partition of the rejected record; None: all."""
    since_ms: int | None = None
    """Earliest timestamp of the rejected record, in milliseconds since the epoch; None: all."""

    def takes(self, letter: DeadLetter) -> bool:
        """Whether a dead letter is selected."""
        source = letter.source
        return (
            (not self.codes or letter.code in self.codes)
            and (self.topic is None or (source is not None and source.topic == self.topic))
            and (self.partition is None or (source is not None and source.partition == self.partition))
            and (self.since_ms is None or letter.record.timestamp >= self.since_ms)
        )


async def read_letters(
    connection: Connection, topic: str, selection: Selection, progress: Progress = lambda *_: None
) -> AsyncGenerator[DeadLetter]:
    """Yield the selected dead letters that `topic` holds now, each partition in order.

    The topic is read twice, because a receipt comes after its dead letter. `progress` is called for each record, of any
    kind. Raises `Unavailable`.
    """
    receipts = {
        (record.partition, receipt)
        async for record in _records(connection, topic, "reading receipts", progress)
        if (receipt := _receipt(record)) is not None
    }
    async with aclosing(_records(connection, topic, "reading dead letters", progress)) as records:
        async for record in records:
            code = header(record.headers, "tm-error-code")
            if code is None:
                continue
            letter = _letter(record, code, replayed=(record.partition, b"%d" % record.offset) in receipts)
            if selection.takes(letter):
                yield letter


def _receipt(record: PlacedRecord) -> bytes | None:
    """Return the offset in a receipt; None for other records. A dead letter may have a header of that name itself."""
    rejected = record.value is not None or header(record.headers, "tm-error-code") is not None
    return None if rejected else header(record.headers, RECEIPT)


async def _records(connection: Connection, topic: str, what: str, progress: Progress) -> AsyncGenerator[PlacedRecord]:
    follower = Follower(connection, topic=topic, from_beginning=True, until_end=True)
    async with follower, aclosing(follower.records()) as records:
        async for record in records:
            progress(what, *follower.how_far)
            yield record


def _letter(record: PlacedRecord, code: bytes, *, replayed: bool) -> DeadLetter:
    error = header(record.headers, "tm-error") or b""
    source = _source(record.headers)
    state: State = "new" if header(record.headers, REPLAYED) is None else "failed again"
    if replayed:
        state = "replayed"
    elif record.value is None and header(record.headers, "tm-truncated") is not None:
        state = "truncated"
    elif record.value is None and record.key is None:
        state = "empty"
    elif source is None:
        state = "no source"
    return DeadLetter(record, code.decode(errors="replace"), error.decode(errors="replace"), source, state)


def _source(headers: Headers) -> Source | None:
    topic, partition, offset = (header(headers, f"tm-source-{part}") for part in ("topic", "partition", "offset"))
    try:
        return Source((topic or b"").decode(), int(partition or b""), int(offset or b""))
    except ValueError:  # from `int`, and from `decode`
        return None


class Target(msgspec.Struct, frozen=True):
    """Where replayed records are published."""

    topic: str | None = None
    """The topic; None: for each record the topic that it came from."""
    by_key: bool = False
    """Whether the key chooses the partition; otherwise it is the one that the record came from."""


class Replayer:
    """Publishes records again, each together with its receipt. An asynchronous context manager.

    Enter it before you read dead letters: that fences another replay. Raises `Unavailable` if Kafka does not answer or
    refuses a record, and `FatalError` if a record's topic or partition does not exist; then nothing of that batch was
    published.
    """

    def __init__(
        self, connection: Connection, topic: str, target: Target, largest: int, prefix: str = "tokenmill"
    ) -> None:
        """`topic` is that of the dead letters, `largest` the greatest size of a record in bytes, and `prefix` the first
        part of the transactional id.
        """
        self._connection = connection
        self._topic = topic
        self._target = target
        self._largest = largest
        self._transactional_id = f"{prefix}-replay-{topic}"
        self._producer: AIOKafkaProducer | None = None
        self._known: ClusterMetadata | None = None

    async def __aenter__(self) -> Self:
        self._producer = await started(self._client, self._connection.connecting, START_DEADLINE_S)
        async with stopped_on_failure(self._producer):
            self._known = await deadline(self._producer.client.fetch_all_metadata(), "look up the topics")
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._producer is not None:
            await stopped(self._producer)

    def _client(self) -> AIOKafkaProducer:
        return AIOKafkaProducer(
            **with_batches(self._connection.producing(), BATCH_BYTES),
            transactional_id=self._transactional_id,
            transaction_timeout_ms=int(TRANSACTION_S * 1000),
            max_request_size=self._largest,
        )

    async def publish(self, letters: Sequence[DeadLetter]) -> None:
        """Publish the records of dead letters, and their receipts, in one transaction."""
        producer = self._producer
        if producer is None:
            raise RuntimeError("a Replayer can publish only inside its `async with` block")
        await deadline(self._transaction(producer, letters), "publish dead letters again", TRANSACTION_S)

    async def _transaction(self, producer: AIOKafkaProducer, letters: Sequence[DeadLetter]) -> None:
        with unavailable("publish dead letters again"):
            try:
                await producer.begin_transaction()
                sent = [future for letter in letters for future in await self._send(producer, letter)]
                await asyncio.gather(*sent)  # else the transaction would be committed without a record that failed
                await producer.commit_transaction()
            except IllegalOperation as problem:  # raised if the producer was fenced between two sends
                raise Unavailable("Kafka: the transaction was aborted, perhaps by another replay") from problem
            except BaseException:
                with suppress(Exception):  # aborting waits for sent records; the next replay aborts it in any case
                    await deadline(producer.abort_transaction(), "abort a transaction", ABORT_S)
                raise

    async def _send(self, producer: AIOKafkaProducer, letter: DeadLetter) -> list[asyncio.Future[object]]:
        if refusal := self.refusal(letter):
            raise FatalError(f"the dead letter {letter.name} can't be published: {refusal}")
        record = letter.record
        topic, partition = self._place(letter)
        again = [(name, value) for name, value in letter.headers if name != REPLAYED]
        headers = [*again, (REPLAYED, letter.name.encode())]
        to_input = await producer.send(topic, record.value, key=record.key, headers=headers, partition=partition)
        receipt = [(RECEIPT, b"%d" % record.offset)]
        to_input.add_done_callback(looked_at)  # the transaction raises a send's error
        key = record.key or letter.name.encode()  # the client can't send a record without key and value
        to_letters = await producer.send(self._topic, None, key=key, headers=receipt, partition=record.partition)
        to_letters.add_done_callback(looked_at)
        return [to_input, to_letters]

    def refusal(self, letter: DeadLetter) -> str:
        """Return why a dead letter can't be published: its topic or partition does not exist. Empty if it can be."""
        topic, partition = self._place(letter)
        numbers = (self._known and self._known.partitions_for_topic(topic)) or ()
        if partition is None:
            return "" if numbers else f"the topic {topic} does not exist"
        return "" if partition in numbers else f"{topic}/{partition} does not exist"

    def _place(self, letter: DeadLetter) -> tuple[str, int | None]:
        """Return the target's topic and partition; None as partition: the key chooses it."""
        source = letter.source
        if source is None:
            raise ValueError(f"the dead letter {letter.name} has no headers that name its source")
        return self._target.topic or source.topic, None if self._target.by_key else source.partition
