"""Transactions on a real Kafka: all of it or nothing, and only for the newest owner."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

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
from tests.support.topics import read_topic
from tokenmill.errors import FatalError, Unavailable
from tokenmill.kafka import transaction as module
from tokenmill.kafka.transaction import Transaction
from tokenmill.servers import KafkaServer
from tokenmill.servers.process import free_port
from tokenmill.worker.outbox import Outbox

pytestmark = pytest.mark.integration

SECONDS = 10.0

New = Callable[..., Transaction]


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

    def one(**options: Any) -> Transaction:
        made.append(Transaction(make, f"id-{stage.group}", stage.group, SECONDS, failures.append, **options))
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


async def test_a_producer_that_is_used_is_not_replaced(stage: Stage, new: New, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it has been open."""
    asked, now = list[float](), [1_000.0]
    monkeypatch.setattr(module, "boot_clock", lambda: now[0])

    async def owned() -> None:
        asked.append(now[0])

    transaction = new(owned=owned)
    await transaction.open()
    for offset in (1, 2, 3):
        now[0] += module.RENEW_S - 1
        await transaction.commit(Route(stage, transaction).place, OffsetAndMetadata(offset, ""), _at_once)
    assert asked == []


@pytest.fixture
async def forgetful(tmp_path: Path, start_kafka: Callable[..., KafkaServer], unique: str) -> AsyncIterator[Stage]:
    """On a Kafka that forgets an idle id within seconds."""
    settings = {
        "transactional_id_expiration_ms": "2000",
        "transaction_remove_expired_transaction_cleanup_interval_ms": "500",
    }
    async with Stage(tmp_path, start_kafka(**settings).bootstrap, unique, "memory://", partitions=1) as stage:
        yield stage


async def _is_forgotten(stage: Stage) -> bool:
    """Whether Kafka has deleted the only id: its own topic says so."""
    records = await read_topic(stage.bootstrap, "__transaction_state")
    return any(record.value is None for record in records)


class TestIdle:
    """A producer whose id Kafka has forgotten."""

    @pytest.fixture
    async def stage(self, forgetful: Stage) -> Stage:
        """In place of the one that all tests share."""
        return forgetful

    async def test_another_producer_comes_through(self, stage: Stage, new: New, failures: list[Exception]) -> None:
        """So the failure is one that passes, for each topic that hears of it."""
        transaction = new()
        await transaction.open()
        await Route(stage, transaction).commit(1)
        await until(lambda: _is_forgotten(stage), "Kafka forgets the id")
        route = Route(stage, transaction)
        route.publish(b"lost")
        await until(lambda: failures, "a send that fails is told")
        route.publish(b"later")
        transaction._seconds = 1
        with pytest.raises(Unavailable):
            await route.commit(2)
        assert {type(each) for each in failures} == {Unavailable}
        assert transaction.given_up
        other = new()
        await other.open()
        route = Route(stage, other)
        route.publish(b"right")
        await route.commit(2)
        assert await until(lambda: _values(stage), "it can be read") == [b"right"]

    async def test_an_owner_gets_another_producer_before(
        self, stage: Stage, new: New, failures: list[Exception], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If it still is the owner, and its last transaction is old."""
        asked = list[str]()
        answers = [Unavailable("the group does not know this member"), None]

        async def owned() -> None:
            asked.append("owned")
            if (answer := answers.pop(0)) is not None:
                raise answer

        transaction = new(owned=owned)
        route = Route(stage, transaction)

        async def sent() -> None:
            route.publish(b"right")
            await route.acknowledged()

        await transaction.open()
        await transaction.commit(route.place, OffsetAndMetadata(1, ""), _at_once)
        assert asked == []
        await until(lambda: _is_forgotten(stage), "Kafka forgets the id")
        monkeypatch.setattr(module, "RENEW_S", 0)
        producer = transaction.producer
        with pytest.raises(Unavailable, match="does not know this member"):
            await transaction.commit(route.place, OffsetAndMetadata(2, ""), sent)
        assert transaction.producer is producer
        await transaction.commit(route.place, OffsetAndMetadata(2, ""), sent)
        assert await until(lambda: _values(stage), "it can be read") == [b"right"]
        assert failures == []
