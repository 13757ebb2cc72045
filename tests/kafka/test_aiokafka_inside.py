"""Everything that is used of aiokafka's internals is there, and is what it is taken for, with a real broker."""

import asyncio
import gc
import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import InvalidTimestampError, ProducerClosed, ProducerFenced
from aiokafka.producer import sender
from aiokafka.protocol.metadata import MetadataRequest, MetadataRequest_v5
from aiokafka.structs import OffsetAndMetadata

from tests.structure.tree import PACKAGE
from tests.support.stage import until
from tests.support.topics import admin_of, make_topics
from tokenmill.config import Kafka
from tokenmill.demo.broker import embedded_broker
from tokenmill.kafka import aiokafka_inside as inside
from tokenmill.kafka.calls import stopped
from tokenmill.kafka.clients import make_admin

pytestmark = pytest.mark.integration

ALLOWED = {"aiokafka_inside.py", "dropped_records.py", "header_names.py", "hung_brokers.py"}


@asynccontextmanager
async def member(kafka: str, topic: str, group: str) -> AsyncIterator[AIOKafkaConsumer]:
    """A member of a group, with the partition of the topic."""
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=kafka, group_id=group, auto_offset_reset="earliest")
    await consumer.start()
    try:
        await until(consumer.assignment, "a place in the group")
        yield consumer
    finally:
        await consumer.stop()


@pytest.fixture
async def topic(kafka: str, unique: str) -> str:
    await make_topics(kafka, f"inside-{unique}", partitions=1)
    return f"inside-{unique}"


async def test_a_member_of_a_group(kafka: str, topic: str, unique: str) -> None:
    """Its place, heartbeats, commits with their metadata, and the tasks that keep it alive."""
    tp = TopicPartition(topic, 0)
    async with member(kafka, topic, f"group-{unique}") as consumer:
        assert (inside.member_id_of(consumer) != "", inside.generation_of(consumer)) == (True, 1)
        assert inside.coordinator_id(consumer) in {
            broker.nodeId for broker in inside.network(consumer).cluster.brokers()
        }
        assert await inside.heartbeat(consumer) is True
        await inside.commit_once(consumer, {tp: OffsetAndMetadata(0, "a word")})
        assert await inside.committed(consumer, [tp]) == {tp: OffsetAndMetadata(0, "a word")}
        tasks = [*inside.reading_tasks(consumer).values(), inside.heartbeat_task(consumer)]
        assert all(isinstance(task, asyncio.Task) and not task.done() for task in tasks)
        assert inside.reading_tasks(consumer).keys() == {"fetching", "metadata", "coordination"}
    assert all(task is not None and task.done() for task in tasks)


async def test_who_is_no_member_has_no_place(kafka: str, topic: str) -> None:
    """Nor a generation, a coordinator or heartbeats."""
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka, group_id="nobodys")
    await consumer.start()
    try:
        consumer.assign([TopicPartition(topic, 0)])
        assert inside.generation_of(consumer) <= 0
        assert inside.heartbeat_task(consumer) is None
    finally:
        await consumer.stop()


async def test_a_member_that_leaves_before_it_is_let_in(kafka: str, topic: str, unique: str) -> None:
    """Then the broker answers its request to join; where no request waits there is nothing to leave."""
    async with member(kafka, topic, unique) as first:
        await inside.leave_while_joining(first)
        assert await inside.heartbeat(first)
        await first._coordinator._stop_heartbeat_task()  # so the other one has to wait for it
        late = AIOKafkaConsumer(topic, bootstrap_servers=kafka, group_id=unique)
        joining = asyncio.create_task(late.start())
        await until(lambda: late._coordinator and inside.member_id_of(late), "the group has given the other one an id")
        before = inside.member_id_of(late)
        await inside.leave_while_joining(late)
        await until(lambda: inside.member_id_of(late) != before, "the broker answers")
        joining.cancel()
        await asyncio.gather(joining, return_exceptions=True)
        await stopped(late)


async def test_records_that_are_written_and_read(kafka: str, topic: str) -> None:
    """A batch is filled past its own method, and read without an object around each record."""
    producer, tp = AIOKafkaProducer(bootstrap_servers=kafka), TopicPartition(topic, 0)
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka, auto_offset_reset="earliest")
    await producer.start()
    await consumer.start()
    try:
        assert not inside.sending_task(producer).done()
        batch = producer.create_batch()
        append = inside.appender(batch)
        assert append(0, 1_000, b"k", b"first", [("h", b"1")]) is not None
        assert append(1, 1_000, None, b"second", []) is not None
        inside.set_count(batch, 2)
        batch.close()
        assert (await (await producer.send_batch(batch, topic, partition=0))).offset == 0
        consumer.assign([tp])
        assert (inside.position(consumer, tp), inside.positions(consumer)) == (-1, {tp: None})
        first = await consumer.getone()
        assert (inside.position(consumer, tp), first.value, list(first.headers)) == (1, b"first", [("h", b"1")])
        assert inside.positions(consumer) == {tp: 1}
        inside.give_plain_records(consumer)
        second = await consumer.getone()
        assert type(second) is not type(first)
        assert (second.offset, second.timestamp, second.key, second.value) == (1, 1_000, None, b"second")
        assert (list(second.headers), inside.positions(consumer)) == ([], {tp: 2})
    finally:
        await consumer.stop()
        await producer.stop()
    assert inside.sending_task(producer).done()


async def test_what_a_broker_has_refused(kafka: str, topic: str) -> None:
    """The producer continues where the broker is, and not after what that does not have."""
    producer = AIOKafkaProducer(bootstrap_servers=kafka, enable_idempotence=True)
    await producer.start()
    try:
        for _ in range(2):
            with pytest.raises(InvalidTimestampError):
                await producer.send_and_wait(topic, b"x", partition=0, timestamp_ms=2**62)
            inside.take_back(producer, TopicPartition(topic, 0), 1)
        assert (await producer.send_and_wait(topic, b"y", partition=0)).offset == 0
    finally:
        await producer.stop()


async def test_what_a_producer_has_not_sent(kafka: str, topic: str) -> None:
    """Whoever waits for it gets the reason, and no error is left unretrieved."""
    producer = AIOKafkaProducer(bootstrap_servers=kafka, linger_ms=60_000)
    await producer.start()
    try:
        sent = [await producer.send(topic, value, partition=0) for value in (b"1", b"2")]
        inside.refuse_unsent(producer, ProducerClosed())
        assert [type(future.exception()) for future in sent] == [ProducerClosed] * 2
        with pytest.raises(ProducerClosed):
            await producer.send(topic, b"3", partition=0)
    finally:
        await producer.stop()


async def test_what_nobody_waits_for_of_one_that_is_fenced(kafka: str, topic: str, unique: str) -> None:
    """A record that is not sent, and the end of its transaction: the loop does not complain of their errors."""
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    name = f"inside-{unique}"
    early = AIOKafkaProducer(bootstrap_servers=kafka, transactional_id=name)
    late = AIOKafkaProducer(bootstrap_servers=kafka, transactional_id=name)
    await early.start()
    await late.start()
    try:
        await early.begin_transaction()
        sent = await early.send(topic, b"1", partition=0)
        with pytest.raises(ProducerFenced):
            await sent
    finally:
        await late.stop()
        await early.stop()
    inside.consume_exceptions(early)
    del early, late, sent
    gc.collect()
    assert complaints == []


async def test_what_brokers_know(kafka: str, topic: str, unique: str) -> None:
    """Topics as they are now, which the consumer has not heard of yet, and who makes them."""
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka)
    await consumer.start()
    try:
        await make_topics(kafka, f"later-{unique}", partitions=3)
        found = await inside.fresh_metadata(consumer, f"later-{unique}", f"nowhere-{unique}")
        assert {name: found.partitions_for_topic(name) for name in found.topics()} == {f"later-{unique}": {0, 1, 2}}
    finally:
        await consumer.stop()
    async with admin_of(kafka) as admin:
        assert inside.controller(admin) is not None
        await admin.describe_topics([topic])
        assert not inside.makes_no_topics(admin)


async def test_a_look_makes_no_topics(kafka: str, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    """It is said so to brokers that make a topic for whoever asks for it. That there is none is no error."""
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka)
    await consumer.start()
    asked: list[MetadataRequest] = []
    client = inside.network(consumer)
    send = client.send

    async def noted(node: int, request: MetadataRequest) -> object:
        asked.append(request)
        return await send(node, request)

    client.send = noted
    try:
        await inside.fresh_metadata(consumer, topic, f"not-{topic}")
    finally:
        await consumer.stop()
    (built,) = (request.build(MetadataRequest_v5) for request in asked)
    assert (built.topics, built.allow_auto_topic_creation) == ([topic, f"not-{topic}"], False)
    assert not caplog.records


async def test_an_embedded_broker_makes_no_topics() -> None:
    """It supports no request for that, and has no controller either."""
    with embedded_broker(["t"]) as bootstrap:
        async with make_admin(Kafka(bootstrap_servers=bootstrap)) as admin:
            await admin.describe_topics(["t"])
            assert inside.makes_no_topics(admin)
            assert inside.controller(admin) is None


async def test_a_transactional_producer(kafka: str, unique: str) -> None:
    """Each with the same name gets the same id and a higher epoch, which ends the one before."""
    found = []
    for _ in range(2):
        producer = AIOKafkaProducer(bootstrap_servers=kafka, transactional_id=f"inside-{unique}")
        await producer.start()
        found.append(inside.producer_id(producer))
        await producer.stop()
    (first, before), (second, after) = found
    assert (first == second, after - before) == (True, 1)


def test_how_soon_a_transaction_is_tried_again() -> None:
    """The client reads the pause from there."""
    assert "return BACKOFF_OVERRIDE" in inspect.getsource(sender)
    before = sender.BACKOFF_OVERRIDE
    try:
        inside.try_again_after(0.007)
        assert sender.BACKOFF_OVERRIDE == 0.007
    finally:
        inside.try_again_after(before)


def test_nothing_else_reaches_into_the_client() -> None:
    """Except what changes how connections are made, and how records are read."""
    words = "_coordinator.", "._client", "._fetcher", "._sender", "._txn_manager", "._subscription.", "BACKOFF_OVERRIDE"
    for path in PACKAGE.rglob("*.py"):
        if path.name not in ALLOWED:
            source = path.read_text().replace("self._client", "").replace("self._sender", "")
            assert [word for word in words if word in source] == [], path


def test_every_function_is_asked_for() -> None:
    """By a test of this file."""
    source = Path(__file__).read_text()
    members = inspect.getmembers(inside, inspect.isfunction)
    functions = [name for name, each in members if each.__module__ == inside.__name__ and not name.startswith("_")]
    assert [name for name in functions if f"inside.{name}(" not in source] == []
