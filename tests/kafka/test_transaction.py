"""Transactions on a real Kafka: all of it or nothing, and only for the newest owner."""

from collections.abc import AsyncIterator, Callable

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import (
    NotLeaderForPartitionError,
    ProducerFenced,
    RequestTimedOutError,
    TransactionalIdAuthorizationFailed,
)
from aiokafka.structs import OffsetAndMetadata

from tests.support.stage import Stage, until
from tokenmill.errors import FatalError, Unavailable
from tokenmill.kafka.transaction import Transaction
from tokenmill.servers.process import free_port
from tokenmill.worker.outbox import Outbox

pytestmark = pytest.mark.integration

SECONDS = 10.0

New = Callable[[], Transaction]


@pytest.fixture
async def failures() -> list[Exception]:
    """What transactions reported."""
    return []


@pytest.fixture
async def new(stage: Stage, failures: list[Exception]) -> AsyncIterator[New]:
    """Makes transactions of one name."""
    made: list[Transaction] = []

    def make() -> AIOKafkaProducer:
        return AIOKafkaProducer(
            bootstrap_servers=stage.bootstrap, transactional_id=f"id-{stage.group}", transaction_timeout_ms=10_000
        )

    def one() -> Transaction:
        made.append(Transaction(make, f"id-{stage.group}", stage.group, SECONDS, failures.append))
        return made[-1]

    yield one
    for transaction in made:
        await transaction.close(5)


class Route:
    """Return an outbox to a partition of the events."""

    def __init__(self, stage: Stage, transaction: Transaction, partition: int = 0) -> None:
        self.place = TopicPartition(stage.topics.tokens, 0)
        self.transaction = transaction
        self.box = Outbox(
            transaction, stage.topics.events, partition, acknowledged=lambda _: None, failed=transaction.failed
        )

    def publish(self, value: bytes) -> None:
        self.box.append(1, b"key", value, [])
        self.box.cut()

    async def acknowledged(self) -> None:
        await until(lambda: self.box.acked == self.box.begun, "everything is acknowledged", SECONDS)

    async def commit(self, offset: int) -> None:
        await self.transaction.commit(self.place, OffsetAndMetadata(offset, "mark"), self.acknowledged)


async def _values(stage: Stage) -> list[bytes | None]:
    return [record.value for record in await stage.read(stage.topics.events)]


async def test_records_and_offset_are_committed_together(stage: Stage, new: New) -> None:
    """Nothing is read before; then both are there, and the next transaction is open."""
    transaction = new()
    await transaction.open()
    route = Route(stage, transaction)
    route.publish(b"one")
    await route.acknowledged()
    assert (await _values(stage), await stage.committed()) == ([], {})
    await route.commit(7)
    route.publish(b"two")
    await route.commit(8)
    assert await _values(stage) == [b"one", b"two"]
    assert await stage.committed_at(8) == "mark"


async def test_a_new_owner_fences_the_old_one(stage: Stage, new: New, failures: list[Exception]) -> None:
    """What the old one sent is gone, it can no longer commit, and the epoch has grown."""
    old, owner = new(), new()
    first = await old.open()
    late = Route(stage, old)
    late.publish(b"late")
    await late.acknowledged()
    assert await owner.open() > first
    with pytest.raises(FatalError, match="is fenced: another worker has the partition"):
        await late.commit(7)
    route = Route(stage, owner)
    route.publish(b"right")
    await route.commit(8)
    assert await _values(stage) == [b"right"]
    assert await stage.committed_at(8) == "mark"
    late.publish(b"later")
    await until(lambda: failures, "a send that fails is reported")
    assert isinstance(failures[0], FatalError)


async def test_without_an_acknowledgement_nothing_is_committed(
    stage: Stage, new: New, failures: list[Exception]
) -> None:
    """The client would commit the other records and the offset without the one that could not be sent."""
    transaction = new()
    await transaction.open()
    route, lost = Route(stage, transaction), Route(stage, transaction, partition=7)
    route.publish(b"sent")
    lost.publish(b"there is no such partition")
    await route.acknowledged()
    transaction._seconds = 1
    with pytest.raises(Unavailable, match="not over within 1 s"):
        await transaction.commit(route.place, OffsetAndMetadata(7, "mark"), lost.acknowledged)
    assert (await _values(stage), await stage.committed()) == ([], {})
    assert len(failures) == 1


async def test_a_closed_transaction_tells_nothing(stage: Stage, new: New, failures: list[Exception]) -> None:
    """The partition is another owner's; what becomes of our last records is not a failure."""
    transaction = new()
    await transaction.open()
    route = Route(stage, transaction)
    route.publish(b"late")
    await transaction.close(5)
    transaction.failed(RuntimeError("fenced meanwhile"))
    with pytest.raises(Unavailable, match="is closed"):
        await route.transaction.commit(route.place, OffsetAndMetadata(7, ""), _at_once)
    assert failures == []
    assert transaction.producer is None


@pytest.mark.parametrize(
    ("problem", "raised"),
    [
        (TimeoutError(), Unavailable),
        (ConnectionResetError(), Unavailable),
        (AssertionError(), Unavailable),
        (RequestTimedOutError(), Unavailable),
        (NotLeaderForPartitionError(), Unavailable),
        (Unavailable("the connection is gone"), Unavailable),
        (ProducerFenced(), FatalError),
        (TransactionalIdAuthorizationFailed("id"), FatalError),
        (ValueError("ours"), FatalError),
        (FatalError("smaller"), FatalError),
    ],
)
async def test_what_passes_is_told_from_what_does_not(
    stage: Stage, new: New, failures: list[Exception], problem: Exception, raised: type[Exception]
) -> None:
    """Another producer may succeed where one failed, but not after being fenced or refused."""
    transaction = new()
    await transaction.open()

    async def wrong() -> None:
        raise problem

    with pytest.raises(raised):
        await transaction.commit(Route(stage, transaction).place, OffsetAndMetadata(7, ""), wrong)
    transaction.failed(problem)
    assert [type(each) for each in failures] == [raised]


async def _at_once() -> None:
    """All is acknowledged."""


async def test_an_opening_that_fails_can_be_tried_again(stage: Stage, failures: list[Exception]) -> None:
    """Each attempt has a client of its own; once it is open it stays so."""
    places = [f"127.0.0.1:{free_port()}", stage.bootstrap]

    def make() -> AIOKafkaProducer:
        return AIOKafkaProducer(bootstrap_servers=places.pop(0), transactional_id=f"id-{stage.group}")

    transaction = Transaction(make, "id", stage.group, SECONDS, failures.append)
    with pytest.raises(Unavailable, match="connection refused"):
        await transaction.open()
    epoch = await transaction.open()
    assert await transaction.open() == epoch
    await transaction.close(5)
