"""Clients continue while a broker takes everything and answers nothing."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest
import uvloop
from aiokafka.admin import NewTopic
from aiokafka.client import AIOKafkaClient, CoordinationType
from aiokafka.errors import (
    GroupCoordinatorNotAvailableError,
    KafkaConnectionError,
    NodeNotReadyError,
    RequestTimedOutError,
)
from aiokafka.protocol.metadata import MetadataRequest, MetadataResponse_v1

from tests.support.kafka_cluster import KafkaCluster
from tests.support.stage import until
from tests.support.topics import admin_of, known
from tokenmill.config import Kafka
from tokenmill.kafka import hung_brokers
from tokenmill.kafka.clients import make_producer
from tokenmill.kafka.hung_brokers import NotReachable, first_answer, owes

REQUEST_MS = 60_000
"""What a client of aiokafka's own would wait."""

RETRY_S = 0.05
"""A client's pause between tries."""

SOON_S = 20.0
"""Far less than that, and more than a busy machine takes."""


def ways(*outcomes: int | Exception | None) -> list[Callable[[], Awaitable[int]]]:
    """Return ways to try: some answer, some fail, and those that are None never return."""

    async def way(outcome: int | Exception | None) -> int:
        if outcome is None:
            await asyncio.Event().wait()
        if isinstance(outcome, Exception):
            raise outcome
        assert outcome is not None
        return outcome

    return [lambda outcome=outcome: way(outcome) for outcome in outcomes]  # type: ignore[misc] # the default is the binding


@pytest.mark.parametrize(
    "outcomes",
    [(7,), (7, 8), (None, 7), (None, None, 7), (KafkaConnectionError("away"), 7), (None, KafkaConnectionError(), 7)],
)
async def test_the_first_answer_counts(outcomes: tuple[int | Exception | None, ...]) -> None:
    """One that is silent or fails holds up nothing."""
    assert await first_answer(ways(*outcomes), seconds=0.01) == 7


async def test_nobody_is_asked_that_need_not_be() -> None:
    """If an answer comes in time, no other is asked for."""
    asked: list[int] = []

    async def way(number: int) -> int:
        asked.append(number)
        await asyncio.sleep(0)
        return number

    assert await first_answer([lambda: way(1), lambda: way(2)], seconds=30) == 1
    assert asked == [1]


async def test_without_an_answer_the_last_failure_is_told() -> None:
    """Having nobody to ask is one, too."""
    with pytest.raises(KafkaConnectionError, match="second"):
        await first_answer(ways(KafkaConnectionError("first"), KafkaConnectionError("second")))
    with pytest.raises(NodeNotReadyError):
        await first_answer(ways())


async def test_what_is_not_needed_any_more_is_cancelled() -> None:
    """Nothing continues after an answer."""
    ended = asyncio.Event()

    async def silent() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return 0

    assert await first_answer([silent, *ways(7)], seconds=0.01) == 7
    assert ended.is_set()


def answer(*leaders: int) -> MetadataResponse_v1:
    """Return metadata of a topic with these leaders of its partitions."""
    partitions = [(0, number, leader, [1], [1]) for number, leader in enumerate(leaders)]
    return MetadataResponse_v1([(1, "localhost", 1, None)], 1, [(0, "t", False, partitions)])


async def asked(found: MetadataResponse_v1 | Exception, topics: set[str], times: int) -> float:
    """Return the seconds that it takes to ask for metadata so often, if they can be had at once."""
    client = AIOKafkaClient(bootstrap_servers="127.0.0.1:1", retry_backoff_ms=int(RETRY_S * 1000))
    client._topics = topics

    async def answered(_: object) -> MetadataResponse_v1:
        if isinstance(found, Exception):
            raise found
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hung_brokers, "first_answer", answered)
        asking, began = asyncio.create_task(client._md_synchronizer()), time.monotonic()
        for _ in range(times):
            await client.force_metadata_update()
        asking.cancel()
        return time.monotonic() - began


@pytest.mark.parametrize(
    ("found", "topics", "pause_s"),
    [
        (KafkaConnectionError("away"), {"t"}, RETRY_S),
        (answer(1, -1), {"t"}, hung_brokers.NO_LEADER_S),
        (answer(1, -1), set(), hung_brokers.NO_LEADER_S),
        (answer(1), {"t", "not there"}, hung_brokers.NO_LEADER_S),
        (MetadataResponse_v1([], 1, []), {"t"}, RETRY_S),
    ],
    ids=["no broker", "no leader", "all topics", "no topic", "a cluster that starts"],
)
async def test_whoever_waits_for_a_leader_does_not_ask_all_the_time(
    found: MetadataResponse_v1 | Exception, topics: set[str], pause_s: float
) -> None:
    """A producer with a record for a partition without one asks again at once, as often as it is answered."""
    assert await asked(found, topics, 5) >= 5 * pause_s


async def test_metadata_that_name_every_leader_wait_for_nothing() -> None:
    """They are rarely asked for, and somebody waits."""
    assert await asked(answer(1, 1), {"t"}, 100) < 100 * hung_brokers.NO_LEADER_S


@asynccontextmanager
async def silent_server() -> AsyncIterator[str]:
    """Takes connections and whatever is sent, and answers nothing."""
    over = asyncio.Event()

    async def take(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        over.set()
        server.close()
        await server.wait_closed()


@asynccontextmanager
async def client_of(*servers: str) -> AsyncIterator[AIOKafkaClient]:
    """A client that has its cluster's metadata."""
    client = AIOKafkaClient(bootstrap_servers=",".join(servers), request_timeout_ms=REQUEST_MS)
    try:
        await client.bootstrap()
        yield client
    finally:
        await client.close()


@pytest.mark.integration
async def test_a_server_that_hangs_does_not_hold_up_a_start(kafka: str) -> None:
    """Whichever of the configured ones it is."""
    async with silent_server() as silent:
        began = time.monotonic()
        async with client_of(silent, kafka) as client:
            assert client.cluster.brokers()
        async with client_of(kafka, silent) as client:
            assert client.cluster.brokers()
    assert time.monotonic() - began < SOON_S


async def test_servers_that_all_hang_are_told_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the time-out of a connection, not by that of a request."""
    monkeypatch.setattr(hung_brokers, "CONNECT_S", 0.1)
    async with silent_server() as silent:
        with pytest.raises(KafkaConnectionError, match="can't be reached"):
            async with client_of(silent):
                pass


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 9092)"), "connection refused"),
        (OSError("Multiple exceptions: [Errno 111] Connect … ('::1'), [Errno 111] Connect …"), "connection refused"),
        (OSError("Multiple exceptions: [Errno 101] …, [Errno 111] …"), "network is unreachable and connection refused"),
        (socket.gaierror(-2, "Name or service not known"), "name or service not known"),
        (TimeoutError(), "no answer in time"),
        (NodeNotReadyError("no broker"), "NodeNotReadyError('no broker')"),
    ],
)
def test_what_is_wrong_with_the_servers_is_said_in_words(problem: Exception, reason: str) -> None:
    """It is the first message that beginners read: mostly there is no Kafka."""
    said = NotReachable("localhost:9092", problem).sentence
    assert said.startswith(f"Kafka at localhost:9092 can't be reached ({reason}): is it running?")


async def _coordinated(client: AIOKafkaClient) -> bool:
    with suppress(GroupCoordinatorNotAvailableError):
        return await client.coordinator_lookup(CoordinationType.GROUP, "anybody") in {
            broker.nodeId for broker in client.cluster.brokers()
        }
    return False


@pytest.mark.integration
async def test_a_broker_that_cannot_be_reached_holds_up_no_other(kafka: str) -> None:
    """Others are made while a connection to it is being made, for as long as metadata name it."""
    async with AsyncExitStack() as stack:
        silent = await stack.enter_async_context(silent_server())
        client = await stack.enter_async_context(client_of(kafka))
        await until(lambda: _coordinated(client), "groups have a coordinator", 60)
        host, _, port = silent.partition(":")
        [broker] = client.cluster.brokers()
        client.cluster._brokers[77] = broker._replace(nodeId=77, host=host, port=int(port))
        hanging = [asyncio.create_task(client.ready(77)) for _ in range(3)]
        await asyncio.sleep(0)
        async with asyncio.timeout(hung_brokers.CONNECT_S - 1):
            assert await client.ready(broker.nodeId)
            assert await client.coordinator_lookup(CoordinationType.GROUP, "anybody") == broker.nodeId
            assert not any(task.done() for task in hanging)
            assert await client.force_metadata_update()  # which shows that there is no such broker
            assert await asyncio.gather(*hanging) == [False] * 3


@pytest.mark.integration
async def test_a_broker_that_is_named_no_more_is_given_up(kafka: str) -> None:
    """Requests to it fail immediately, so that they can be sent elsewhere."""
    async with client_of(kafka) as client:
        node = client.get_random_node()
        assert await client.ready(node)
        connection = client._conns[77, 0] = client._conns.pop((node, 0))
        waiting = asyncio.create_task(connection.send(MetadataRequest([])))
        connection._read_task.cancel()  # its answers are not heard
        assert await client.force_metadata_update()
        with pytest.raises(KafkaConnectionError, match="closed"):
            await waiting
        assert not connection.connected()
        assert not await client.ready(77)


@pytest.mark.integration
async def test_a_request_may_time_out_just_when_its_broker_is_given_up(kafka: str) -> None:
    """It fails as a request does; another error would end the client's tasks."""
    async with client_of(kafka) as client:
        node = client.get_random_node()
        assert await client.ready(node)
        connection = client._conns[node, 0]
        connection._read_task.cancel()  # its answers are not heard
        asked = asyncio.create_task(client.send(node, MetadataRequest([])))
        await until(lambda: connection._requests, "it is asked")
        [(_, _, answer)] = connection._requests
        answer.set_exception(TimeoutError())
        client.cluster._brokers.clear()
        hung_brokers._give_up_lost(client)
        with pytest.raises(RequestTimedOutError):
            await asked


@pytest.mark.integration
async def test_the_configured_servers_are_asked_when_no_known_broker_answers(kafka: str) -> None:
    """All addresses may have changed while a cluster was away."""
    async with client_of(kafka) as client:
        [broker] = client.cluster.brokers()
        client.cluster._brokers = {77: broker._replace(nodeId=77, port=1)}
        assert await client.force_metadata_update()
        assert [each.port for each in client.cluster.brokers()] == [broker.port]


@pytest.mark.integration
async def test_an_answer_that_waits_for_nobody_has_a_deadline_of_its_own(
    kafka: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker owes it from the moment it was asked; the configured time-out is for requests that wait."""
    monkeypatch.setattr(hung_brokers, "ANSWER_S", 0.2)
    monkeypatch.setattr(hung_brokers, "OWES_S", 0.1)
    async with client_of(kafka) as client:
        node = client.get_random_node()
        assert await client.ready(node)
        connection = client._conns[node, 0]
        assert not owes(connection)
        connection._read_task.cancel()
        asked = asyncio.create_task(client.send(node, MetadataRequest([])))
        await until(lambda: owes(connection), "the answer is owed")
        with pytest.raises(RequestTimedOutError):
            await asked


@pytest.mark.integration
@pytest.mark.timeout(240)
async def test_records_go_on_when_their_leader_hangs(tmp_path: Path) -> None:
    """Long before the time-out of a request they are at the new leader, each once."""
    with KafkaCluster(tmp_path / "kafka") as cluster:
        async with admin_of(cluster.bootstrap) as admin:
            await admin.create_topics([NewTopic("tokens", 3, 3)])
            await known(admin, ["tokens"])
        producer = make_producer(Kafka(bootstrap_servers=cluster.bootstrap, request_timeout_ms=REQUEST_MS))
        await producer.start()
        sent = [await producer.send_and_wait("tokens", b"before", partition=number) for number in range(3)]
        assert [each.offset for each in sent] == [0, 0, 0]
        cluster.brokers[1].freeze()
        began = time.monotonic()
        waiting = [await producer.send("tokens", b"after", partition=number) for number in range(3)]
        assert [each.offset for each in await asyncio.gather(*waiting)] == [1, 1, 1]
        assert time.monotonic() - began < SOON_S
        await producer.stop()


@pytest.mark.integration
def test_a_connection_that_closed_unheard_is_a_lost_one(kafka: str) -> None:
    """Under uvloop, whose own error would end the client's tasks; the next request makes a new connection."""

    async def asked() -> None:
        async with client_of(kafka) as client:
            node = client.get_random_node()
            assert await client.ready(node)
            connection = client._conns[node, 0]
            connection._read_task.cancel()  # nothing notices
            connection._writer.transport.abort()
            await until(lambda: "closed=True" in repr(connection._writer.transport), "the transport is closed")
            with pytest.raises(KafkaConnectionError, match="is gone"):
                connection.send(MetadataRequest([]))
            assert not connection.connected()
            assert await client.send(node, MetadataRequest([]))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(asked())
