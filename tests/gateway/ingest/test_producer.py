"""The producer on a real Kafka: acknowledged, on the partition that Java clients choose, bounded, and never stuck."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec
import pytest
from aiokafka.admin import NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError

from tests.support.stage import until
from tests.support.topics import PARTITIONS, admin_of, known, make_topics, read_topic
from tokenmill.config import Kafka
from tokenmill.errors import Unavailable
from tokenmill.gateway.ingest.in_flight import OF_LATE
from tokenmill.gateway.ingest.producer import Bounds, Producer
from tokenmill.gateway.problems import Refused
from tokenmill.servers import KafkaServer

pytestmark = pytest.mark.integration

JAVA_HASHES = {
    "21": -973932308,
    "foobar": -790332482,
    "a/b c": 650520432,
    "Gespräch 7": -659008982,
    "会话/42": -192533486,
    "🌧️ %2F?": 474168520,
    "чат": 2021556747,
}
"""Key → murmur2 of its UTF-8, as the Java client 4.1 computes it."""

LARGEST = "max.message.bytes"

SHORT = Bounds(in_flight_bytes=6_000, partition_bytes=3_000, room_s=0.5, acknowledged_s=2, request_ms=1_000)
"""So that a test sees what takes people ten seconds."""


@asynccontextmanager
async def writing(bootstrap: str, *topics: str, bounds: Bounds | None = None) -> AsyncIterator[Producer]:
    producer = Producer(Kafka(bootstrap_servers=bootstrap), topics, bounds)
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


@pytest.fixture
async def topic(kafka: str, unique: str) -> str:
    await make_topics(kafka, name := f"tokens-{unique}")
    return name


@pytest.fixture
async def producer(kafka: str, topic: str) -> AsyncIterator[Producer]:
    async with writing(kafka, topic) as producer:
        yield producer


async def test_a_record_is_where_the_answer_says(producer: Producer, kafka: str, topic: str) -> None:
    """Value and headers as they were given; null values, which say that nothing follows, included."""
    first = await producer.send(topic, b"c", b"{}", [("tm-codec", b"native")])
    second = await producer.send(topic, b"c", None)
    records = {(record.partition, record.offset): record for record in await read_topic(kafka, topic)}
    assert (records[first].value, list(records[first].headers)) == (b"{}", [("tm-codec", b"native")])
    assert (records[second].value, second.offset) == (None, first.offset + 1)
    assert producer.in_flight_bytes == 0


async def test_the_time_of_acknowledgements_is_a_mean_of_the_last_records(producer: Producer, topic: str) -> None:
    """It grows from nothing."""
    assert producer.acknowledged_s == 0
    began = time.monotonic()
    for _ in range(20):
        await producer.send(topic, b"c", b"{}")
    taken = (time.monotonic() - began) / 20
    assert taken / OF_LATE < producer.acknowledged_s < taken


async def test_keys_go_where_the_java_client_sends_them(producer: Producer, topic: str) -> None:
    """Workers and producers in other languages agree on the partition of a conversation."""
    placed = {key: await producer.send(topic, key.encode(), b"{}") for key in JAVA_HASHES}
    expected = {key: (hash_ & 0x7FFFFFFF) % PARTITIONS for key, hash_ in JAVA_HASHES.items()}
    assert {key: partition for key, (partition, _) in placed.items()} == expected


async def test_records_of_a_partition_keep_their_order(producer: Producer, kafka: str, topic: str) -> None:
    """Though none is waited for before the next one goes."""
    sent = [await producer.put(topic, 1, b"c", b"%d" % number) for number in range(500)]
    assert [(await each.placed()).offset for each in sent] == list(range(500))
    assert [int(record.value) for record in await read_topic(kafka, topic)] == list(range(500))


async def test_a_topic_that_is_not_there_is_said_with_what_makes_it(kafka: str, unique: str) -> None:
    """After a short wait: brokers that make topics need some time. The others can be written to."""
    async with writing(kafka, missing := f"nothing-{unique}", bounds=SHORT) as producer:
        with pytest.raises(Refused, match=r"topics create") as refusal:
            await producer.send(missing, b"c", b"{}")
    assert refusal.value.kind.status == 503


async def test_a_batch_is_never_larger_than_the_topic_takes(kafka: str, unique: str) -> None:
    """Whatever `kafka.producer` says: the broker would refuse all of its records, each of which it takes."""
    await make_topics(kafka, topic := f"small-{unique}", max_message_bytes="5000")
    producer = Producer(Kafka(bootstrap_servers=kafka, producer={"max_batch_size": 1_000_000}), [topic])
    await producer.start()
    try:
        sent = [await producer.put(topic, 0, b"c", b"x" * 2_000) for _ in range(10)]
        assert [(await each.placed()).offset for each in sent] == list(range(10))
    finally:
        await producer.stop()


async def test_a_record_that_the_topic_does_not_take_is_refused_before_it_is_sent(kafka: str, unique: str) -> None:
    """An idempotent producer could not go on behind a record that Kafka refuses."""
    async with admin_of(kafka) as admin:
        await admin.create_topics([NewTopic(topic := f"small-{unique}", 1, 1, topic_configs={LARGEST: "2000"})])
        await known(admin, [topic])
    async with writing(kafka, topic) as producer:
        client = producer._client
        with pytest.raises(Refused, match="takes 2000") as refusal:
            await producer.send(topic, b"c", b"x" * 2_000)
        assert (refusal.value.kind.status, producer.in_flight_bytes) == (413, 0)
        assert (await producer.send(topic, b"c", b"x" * 1_700)).offset == 0
        assert producer._client is client


async def test_after_a_record_that_kafka_refuses_others_are_written(producer: Producer, kafka: str, topic: str) -> None:
    """By another client: to the broker the first one has a hole in its numbers. It knows what the topic takes now."""
    async with admin_of(kafka) as admin:
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {LARGEST: "2000"})])

    async def refused() -> bool:
        together = [await producer.put(topic, 0, b"c", value) for value in (b"1", b"x" * 5_000)]
        return [await status_of(sent.placed()) for sent in together] == [503, 503]

    await until(refused, "the broker knows its new limit")
    written = len(await read_topic(kafka, topic))
    assert await (await producer.put(topic, 0, b"c", b"1")).placed() == (0, written)
    assert await status_of(producer.send(topic, b"c", b"x" * 5_000)) == 413
    assert producer.in_flight_bytes == 0


async def test_a_client_that_can_not_be_made_is_made_again(
    producer: Producer, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As while a certificate is exchanged, or where code of the operator's raises anything; no secret is told."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "raises_at_first.py").write_text('raise RuntimeError("s3cret")')
    usual, missing = producer._kafka, str(tmp_path / "exchanged.pem")
    tokens = {"sasl_mechanism": "OAUTHBEARER", "sasl_token_provider": "raises_at_first:token"}
    for told, broken in (
        ("exchanged.pem can't be used", {"security_protocol": "SSL", "ssl_cafile": missing}),
        ("RuntimeError", {"security_protocol": "SASL_PLAINTEXT", **tokens}),
    ):
        client = producer._client
        assert client is not None
        producer._kafka = msgspec.structs.replace(usual, **broken)
        producer._replace(client, KafkaError("a test replaces it"))
        await until(partial(_told, caplog, told), "it is told why there is no client")
        producer._kafka = usual
        await until(producer._ready.is_set, "there is another client")
        assert await status_of(producer.send(topic, b"c", b"{}")) == 200
    assert "s3cret" not in caplog.text


def _told(caplog: pytest.LogCaptureFixture, words: str) -> bool:
    return words in caplog.text


async def status_of(writing: Awaitable[object]) -> int:
    """What a writer gets, and that it does not wait for ever."""
    try:
        await asyncio.wait_for(writing, 20)
    except Refused as refusal:
        return refusal.kind.status
    return 200


@pytest.mark.slow
async def test_a_broker_that_stalls_costs_bounded_time_and_memory(start_kafka: Callable[..., KafkaServer]) -> None:
    """What is sent is refused in time with 503, what finds no room with 429; once it goes on, all of it is written.

    When the process ends while it stalls, whoever waits hears that it does.
    """
    broker = start_kafka()
    await make_topics(broker.bootstrap, "tokens", partitions=2)
    async with writing(broker.bootstrap, "tokens", bounds=SHORT) as producer:
        await producer.send("tokens", b"c", b"before")
        broker.freeze()
        keys = [b"%d" % number for number in range(12)]
        statuses = await asyncio.gather(*(status_of(producer.send("tokens", key, key.ljust(900))) for key in keys))
        held = producer.in_flight_bytes
        broker.thaw()
        assert sorted(set(statuses)) == [429, 503]
        assert 0 < held <= SHORT.in_flight_bytes
        await until(lambda: producer.in_flight_bytes == 0, "everything is acknowledged", 30)
        written = [record.value for record in await read_topic(broker.bootstrap, "tokens")]
        assert len(written) == 1 + statuses.count(503) == len(set(written))
        broker.freeze()
        sent = await producer.put("tokens", 0, b"c", b"{}")
        await asyncio.wait_for(producer.stop(), 20)
        broker.thaw()
        assert sent.settled
        assert await status_of(producer.put("tokens", 0, b"c", b"{}")) == 503


@pytest.mark.parametrize("lacks", ["room", "connection"])
async def test_what_is_not_sent_takes_no_room(lacks: str) -> None:
    """Of its partition, or of all: else each refusal would leave less for the next one."""
    producer = Producer(Kafka(bootstrap_servers="127.0.0.1:1"), ["tokens"], Bounds(in_flight_bytes=900, room_s=0.01))
    producer._largest = {"tokens": 1_000}
    if lacks == "room":
        producer._ready.set()
        assert producer._all.try_take(800)
    assert await status_of(producer.put("tokens", 0, b"c", b"{}")) == {"room": 429, "connection": 503}[lacks]
    assert producer.in_flight_bytes == {"room": 800, "connection": 0}[lacks]
    assert producer._of_partition["tokens", 0].taken == 0


async def test_kafka_that_is_not_there_is_said_at_once() -> None:
    """Nothing listens on port 1; the server tries again."""
    with pytest.raises(Unavailable, match="connect"):
        await Producer(Kafka(bootstrap_servers="127.0.0.1:1"), ["tokens"]).start()


async def test_a_start_that_takes_too_long_names_what_is_written_to(kafka: str, topic: str) -> None:
    """Gateways, fronts and callers have one: only the topics tell them apart."""
    with pytest.raises(Unavailable, match=f"start the producer for {topic}, tokens: no answer within"):
        await Producer(Kafka(bootstrap_servers=kafka), [topic, "tokens"], Bounds(start_s=1e-6)).start()
