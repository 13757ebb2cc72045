"""Dead letters: read them without a consumer group, and publish the records again that they hold.

Rules of a replay:

1. A record goes back to the topic and partition that it came from, with its key, value and own headers, or by its key,
   or to another topic. Its timestamp is new: the old one could be beyond the idle timeout, or the topic's retention.
2. It carries the header `tm-replayed`, which names the dead letter. If it fails again, the new dead letter has it, too,
   and is replayed only if that is asked for.
3. A record and its receipt are published in one transaction. A receipt is a record without a value on the dead-letter
   topic, in the dead letter's partition; its header `tm-receipt` holds the dead letter's offset. A dead letter that has
   one is not replayed again, for as long as the topic holds both. One replay of a topic runs at a time: the next one
   fences it, and only then reads the receipts.
4. A dead letter whose value was left out, because it was too large, is refused, and so is one with neither key nor
   value: the client sends no such record, and there is nothing in it to be read.
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
"""On a record that was published again: `<partition>-<offset>` of the dead letter."""

RECEIPT = "tm-receipt"
"""On the dead-letter topic: the offset, in the same partition, of a dead letter that was replayed."""

REASON = frozenset({"tm-error-code", "tm-error", "tm-source-topic", "tm-source-partition", "tm-source-offset"})
"""Headers that the worker adds to a dead letter."""

BATCH_BYTES = 16 * KIB
"""Bytes of the largest record batch, aiokafka's default: every topic takes it."""

BATCH = 100
"""Records of one transaction: few enough to be held in memory when each is as long as it may be."""

TRANSACTION_BYTES = 4 * MIB
"""Bytes of keys and values at which a transaction takes no more records. With one more record of 1 MiB it needs
512 KiB a second to be done in `TRANSACTION_S`, which a slow line from outside the cluster manages."""

TRANSACTION_S = 10.0
"""Seconds for one transaction, its acknowledgements included. Where this process is killed, the broker ends one after
as long: until then workers see nothing of what follows on the same partition."""

ABORT_S = 5.0
"""For the end of one that did not come through."""

State: TypeAlias = Literal["new", "failed again", "replayed", "truncated", "empty", "no source"]

REFUSED: Sequence[State] = ("truncated", "empty", "no source")
"""States of dead letters that can't be replayed, whatever is asked for."""


class Source(msgspec.Struct, frozen=True):
    """Where a rejected record stands in the input."""

    topic: str
    partition: int
    offset: int


class DeadLetter(msgspec.Struct, frozen=True):
    """A record of the dead-letter topic."""

    record: PlacedRecord
    code: str
    error: str
    source: Source | None
    """None: the headers do not say it."""
    state: State
    """What a replay makes of it: `new` is replayed, `failed again` if that is asked for, the others are not."""

    @property
    def name(self) -> str:
        """`<partition>-<offset>`."""
        return f"{self.record.partition}-{self.record.offset}"

    @property
    def size(self) -> int:
        """Bytes of key and value."""
        return len(self.record.key or b"") + len(self.record.value or b"")

    @property
    def headers(self) -> Headers:
        """Those that the record came with."""
        return [(name, value) for name, value in self.record.headers if name not in REASON]


def is_full(letters: Sequence[DeadLetter]) -> bool:
    """Whether one transaction takes no more than these."""
    return len(letters) >= BATCH or sum(letter.size for letter in letters) >= TRANSACTION_BYTES


class Selection(msgspec.Struct, frozen=True):
    """Which dead letters are meant; None: all."""

    codes: Sequence[str] = ()
    topic: str | None = None
    partition: int | None = None
    """Topic and partition are the source's."""
    since_ms: int | None = None
    """Compared with the record's timestamp, which is that of the rejected record."""

    def takes(self, letter: DeadLetter) -> bool:
        """Whether this one is meant."""
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
    """The dead letters that `topic` holds now, each partition in order.

    The topic is read twice, because a receipt comes after its dead letter. Other records are passed over, but
    `progress` is called for each. Raises `Unavailable`.
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
    """Return the offset in a receipt; None for other records. A dead letter has whatever headers its producer chose."""
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
    except ValueError:  # of `decode`, too
        return None


class Target(msgspec.Struct, frozen=True):
    """Where records go that are published again."""

    topic: str | None = None
    """None: each to the topic that it came from."""
    by_key: bool = False
    """The key chooses the partition, instead of the one that the record came from."""


class Replayer:
    """Publishes records again, each together with its receipt. An asynchronous context manager.

    Enter it before dead letters are read: that ends what another one had begun. Raises `Unavailable` when Kafka does
    not answer or refuses a record, `FatalError` where a record's topic or partition is not there; then nothing of that
    batch was published.
    """

    def __init__(
        self, connection: Connection, topic: str, target: Target, largest: int, prefix: str = "tokenmill"
    ) -> None:
        """`topic` is that of the dead letters, `largest` the bytes that a record may have.

        `prefix` is the first part of the transactional id.
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
        """One transaction."""
        producer = self._producer
        if producer is None:
            raise RuntimeError("a Replayer publishes inside its `async with` block")
        await deadline(self._transaction(producer, letters), "publish dead letters again", TRANSACTION_S)

    async def _transaction(self, producer: AIOKafkaProducer, letters: Sequence[DeadLetter]) -> None:
        with unavailable("publish dead letters again"):
            try:
                await producer.begin_transaction()
                sent = [future for letter in letters for future in await self._send(producer, letter)]
                await asyncio.gather(*sent)  # a send that failed does not make the transaction fail by itself
                await producer.commit_transaction()
            except IllegalOperation as problem:  # how a producer that was fenced says so in the middle of its sends
                raise Unavailable("Kafka: the transaction was ended from outside, as another replay does") from problem
            except BaseException:
                with suppress(Exception):  # it waits for its records; whoever has the name next aborts it, too
                    await deadline(producer.abort_transaction(), "abort a transaction", ABORT_S)
                raise

    async def _send(self, producer: AIOKafkaProducer, letter: DeadLetter) -> list[asyncio.Future[object]]:
        record = letter.record
        topic, partition = self._place(letter)
        again = [(name, value) for name, value in letter.headers if name != REPLAYED]
        headers = [*again, (REPLAYED, letter.name.encode())]
        to_input = await producer.send(topic, record.value, key=record.key, headers=headers, partition=partition)
        receipt = [(RECEIPT, b"%d" % record.offset)]
        to_input.add_done_callback(looked_at)  # the transaction reports it, even where nobody waits for this one
        key = record.key or letter.name.encode()  # the client sends none without key and value
        noted = await producer.send(self._topic, None, key=key, headers=receipt, partition=record.partition)
        noted.add_done_callback(looked_at)
        return [to_input, noted]

    def _place(self, letter: DeadLetter) -> tuple[str, int | None]:
        """Topic and partition; None: the key's."""
        source = letter.source
        if source is None or self._known is None:
            raise ValueError(f"the dead letter {letter.name} does not say where it came from")
        topic = self._target.topic or source.topic
        numbers = self._known.partitions_for_topic(topic) or ()
        if self._target.by_key and numbers:
            return topic, None
        if source.partition not in numbers:
            raise FatalError(f"the dead letter {letter.name} can't go to {topic}/{source.partition}: there is none")
        return topic, source.partition
