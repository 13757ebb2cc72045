"""Clients from settings, and patience with limits."""

import asyncio
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaConnectionError, ProducerClosed
from aiokafka.partitioner import DefaultPartitioner

from tests.support.topics import make_topics
from tokenmill.aiokafka_inside import sending_task
from tokenmill.config import Kafka
from tokenmill.demo.broker import embedded_broker
from tokenmill.errors import ConfigError, Unavailable
from tokenmill.kafka import client_options, deadline, offsets_since, partition_of, started, stopped
from tokenmill.servers import KafkaServer


def test_plain_settings_become_plain_options() -> None:
    """No credentials, no TLS."""
    options = client_options(Kafka(bootstrap_servers="a:1,b:2"))
    assert options["bootstrap_servers"] == "a:1,b:2"
    assert not {"ssl_context", "sasl_mechanism"} & options.keys()


def test_secure_settings_become_a_tls_context_and_credentials() -> None:
    """Certificates are checked against the system's authorities unless a file is given."""
    kafka = Kafka(security_protocol="SASL_SSL", sasl_mechanism="PLAIN", sasl_username="u", sasl_password="p")
    options = client_options(kafka)
    assert options["ssl_context"].verify_mode is ssl.CERT_REQUIRED
    assert (options["sasl_mechanism"], options["sasl_plain_username"], options["sasl_plain_password"]) == (
        "PLAIN",
        "u",
        "p",
    )


async def test_tokens_come_from_the_function_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked again for each login: a token expires."""
    (tmp_path / "own_tokens.py").write_text("n = 0\nasync def token():\n    global n\n    n += 1\n    return f't{n}'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    kafka = Kafka(security_protocol="SASL_SSL", sasl_mechanism="OAUTHBEARER", sasl_token_provider="own_tokens:token")
    provider = client_options(kafka)["sasl_oauth_token_provider"]
    assert [await provider.token(), await provider.token()] == ["t1", "t2"]


@pytest.mark.parametrize("name", ["nowhere:token", "asyncio:nothing", "asyncio", "os:getcwd", ":x"])
def test_a_token_provider_that_is_none_is_refused_by_name(name: str) -> None:
    """When the client is made: a login that fails later would look like a broker's refusal."""
    kafka = Kafka(security_protocol="SASL_SSL", sasl_mechanism="OAUTHBEARER", sasl_token_provider=name)
    with pytest.raises(ConfigError, match=f"kafka.sasl_token_provider: .*{name}"):
        client_options(kafka)


def test_a_client_certificate_is_loaded(tmp_path: Path) -> None:
    """A file that is none, or is not there, is refused by name when the client is made, not when it is first used."""
    wrong, missing = tmp_path / "cert.pem", tmp_path / "missing.pem"
    wrong.write_text("no certificate")
    for path in (str(wrong), str(missing)):
        with pytest.raises(ConfigError, match=rf"kafka\.ssl_certfile: {path} "):
            client_options(Kafka(security_protocol="SSL", ssl_certfile=path, ssl_keyfile=path))
        with pytest.raises(ConfigError, match=rf"kafka\.ssl_cafile: {path} "):
            client_options(Kafka(security_protocol="SSL", ssl_cafile=path))


async def test_a_call_has_a_deadline() -> None:
    """A call that hangs, one that fails and one that works."""

    async def fails() -> None:
        raise KafkaConnectionError("no")

    async def closed() -> None:
        raise RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed")

    async def mistaken() -> None:
        raise RuntimeError("a mistake")

    async def works() -> int:
        return 7

    with pytest.raises(Unavailable, match=r"look: no answer within 0.01 s"):
        await deadline(asyncio.Event().wait(), "look", 0.01)
    with pytest.raises(Unavailable, match="look: KafkaConnectionError"):
        await deadline(fails(), "look")
    with pytest.raises(Unavailable, match="Kafka: look: the connection is gone"):
        await deadline(closed(), "look")
    with pytest.raises(RuntimeError, match="a mistake"):
        await deadline(mistaken(), "look")
    assert await deadline(works(), "look") == 7


async def test_a_cancellation_that_comes_with_the_answer_is_not_lost() -> None:
    """Or a loop of calls that is told to end goes on for ever."""
    answer = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(deadline(answer, "look"))
    await asyncio.sleep(0)
    answer.set_result(7)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


class Client:
    """A client whose start and stop do what a test says."""

    def __init__(self, *, start: Exception | None = None, stop: Exception | None = None) -> None:
        self._start = start
        self._stop = stop
        self.stops = 0

    async def start(self) -> None:
        if self._start:
            raise self._start

    async def stop(self) -> None:
        self.stops += 1
        if self._stop:
            raise self._stop


async def test_a_client_that_does_not_start_is_stopped() -> None:
    """It may have connections and tasks already; that its stop fails, too, changes nothing."""
    client = Client(start=KafkaConnectionError("away"), stop=RuntimeError("broken"))
    with pytest.raises(Unavailable, match="away"):
        await started(lambda: client, "start", 1)
    assert client.stops == 1


async def test_a_started_client_is_handed_out() -> None:
    """And stopped by whoever has it."""
    client = Client()
    assert await started(lambda: client, "start", 1) is client
    await stopped(client)
    assert client.stops == 1


@pytest.fixture(scope="module")
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    """One to freeze."""
    with KafkaServer(tmp_path_factory.mktemp("own-broker")) as broker:
        yield broker


@pytest.fixture
def broker(own_broker: KafkaServer) -> Iterator[KafkaServer]:
    """The same, which goes on when a test ends."""
    yield own_broker
    own_broker.thaw()


@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_producer_that_cannot_write_is_ended_all_the_same(
    broker: KafkaServer, unique: str, *, cancelled: bool
) -> None:
    """Its sender and its connections would stay as long as the process; who waits for its record is told."""
    await make_topics(broker.bootstrap, unique, partitions=1)
    producer = await started(lambda: AIOKafkaProducer(bootstrap_servers=broker.bootstrap), "start", 20)
    await producer.send_and_wait(unique, b"before")
    broker.freeze()
    sent = await producer.send(unique, b"after")
    stopping = asyncio.create_task(stopped(producer, 30 if cancelled else 0.5))
    _, late = await asyncio.wait([stopping], timeout=0.5 if cancelled else None)
    for task in late:
        task.cancel()
    await asyncio.wait([stopping])
    broker.thaw()
    assert stopping.cancelled() == cancelled
    assert sending_task(producer).done()
    assert isinstance(sent.exception(), ProducerClosed)
    assert not [conn for conn in producer.client._conns.values() if conn.connected()]


T0 = 1_000_000


async def places_of(bootstrap: str, topic: str) -> list[dict[int, int]]:
    """Where a reader begins that looks for three times, in partitions with two records and with none."""
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        for time in (T0, T0 + 1000):
            await producer.send_and_wait(topic, b"x", partition=0, timestamp_ms=time)
    places = [TopicPartition(topic, number) for number in range(2)]
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap) as consumer:
        consumer.assign(places)
        found = [await offsets_since(consumer, places, time) for time in (-1, T0 + 500, T0 + 2000)]
    return [{place.partition: offset for place, offset in each.items()} for each in found]


@pytest.mark.integration
async def test_a_log_is_read_from_a_time_on(kafka: str, unique: str) -> None:
    """What is older is left out; of what is all older nothing is read."""
    await make_topics(kafka, unique, partitions=2)
    assert await places_of(kafka, unique) == [{0: 0, 1: 0}, {0: 1, 1: 0}, {0: 2, 1: 0}]


@pytest.mark.integration
async def test_a_broker_that_knows_no_times_has_all_of_its_log_read() -> None:
    """The embedded one says of every time that nothing is younger."""
    with embedded_broker(["t"]) as bootstrap:
        assert await places_of(bootstrap, "t") == [{0: 0, 1: 0}] * 3


@pytest.mark.parametrize(("key", "partitions", "place"), [(b"c", 2, 0), (b"c", 3, 1), (b"c", 5, 4)])
def test_a_key_is_where_producers_place_it(key: bytes, partitions: int, place: int) -> None:
    """As aiokafka's own, and Java's."""
    numbers = list(range(partitions))
    assert partition_of(key, partitions) == place == DefaultPartitioner()(key, numbers, numbers)
