"""What aiokafka lacks when a broker hangs: the one file that changes how its clients ask brokers.

A broker that is frozen, or cut off without a word, still takes connections and requests, and answers none. aiokafka
asks one broker at random, waits for all of the request's time-out, and makes no other connection meanwhile. Here:

1. What any broker can answer (bootstrap, metadata, who coordinates) is asked of the next one when nothing came for a
   moment; the first answer counts. The configured servers are asked again when no known broker answers.
2. A connection that hangs while it is made is given up soon, and holds up no other.
3. While a broker owes an answer, the others are asked for metadata. One that they no longer name is given up: requests
   to it fail immediately, and are sent to the broker that took its place.
4. What a broker answers without waiting for others has a deadline of its own, shorter than `kafka.request_timeout_ms`.
5. A connection that closed unnoticed is a lost connection; uvloop raises an error there that ends aiokafka's tasks.
6. Metadata that no broker returned, or that name no leader, are asked for again only after a pause: a producer with
   records for a partition without a leader asks without one.
"""

import asyncio
import logging
import os
import random
import re
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from functools import partial, wraps
from typing import Any, TypeVar

from aiokafka.client import AIOKafkaClient, ConnectionGroup
from aiokafka.cluster import ClusterMetadata
from aiokafka.conn import AIOKafkaConnection, CloseReason, create_conn
from aiokafka.errors import (
    GroupCoordinatorNotAvailableError,
    KafkaConnectionError,
    KafkaError,
    NodeNotReadyError,
    for_code,
)
from aiokafka.protocol.coordination import FindCoordinatorRequest
from aiokafka.protocol.metadata import MetadataRequest

from tokenmill.errors import CLOSED
from tokenmill.tasks import cancelled

log = logging.getLogger(__name__)

T = TypeVar("T")

NEXT_S = 0.5
"""Seconds without an answer until the next broker is asked as well: many times what one takes that is not busy."""

CONNECT_S = 5.0
"""Seconds for a connection with its TLS and login. A client makes one attempt at a broker at a time."""

OWES_S = 2.0
"""Seconds without an answer until the others are asked about the broker. An empty fetch returns sooner."""

NO_LEADER_S = 0.02
"""Seconds until the next question for a leader. A producer sends nothing meanwhile to other partitions, either."""

LOOK_S = 1.0
"""Seconds between two looks at what brokers owe."""

ANSWER_S = 5.0
"""Seconds for an answer that waits for nobody; then the connection is made again."""

PROMPT = frozenset({2, 3, 9, 10, 12, 17, 18, 23, 36})
"""Keys of requests that a broker answers by itself: offsets, metadata, committed offsets, coordinators, heartbeats,
logins, versions, ends of epochs. Others wait for replicas, for the group, or for bytes of records on a slow line."""

NOBODY_VOUCHES = (18, 19, 20, 21)
"""OpenSSL's codes for a certificate that is self-signed, or signed by an unknown authority."""


class NotReachable(KafkaConnectionError):  # type: ignore[misc] # untyped base class
    """No configured server answers: mostly none is running, so `sentence` is for somebody who just starts."""

    def __init__(self, servers: str, problem: BaseException) -> None:
        if getattr(problem, "verify_code", None) in NOBODY_VOUCHES:
            advice = "`kafka.ssl_cafile` names the authority that vouches for its certificate"
        else:
            advice = "is it running? `kafka.bootstrap_servers` or --bootstrap names another"
        self.sentence = f"Kafka at {servers} can't be reached ({_reason(problem)}): {advice}"
        super().__init__(self.sentence)


def _reason(problem: BaseException) -> str:
    """Return the system's words for its error, without the call and the address that asyncio puts around them."""
    if isinstance(problem, TimeoutError):
        return "no answer in time"
    if isinstance(problem, ssl.SSLCertVerificationError):
        return problem.verify_message.rstrip(".")
    if isinstance(problem, socket.gaierror):
        return str(problem.strerror).lower()
    codes = re.findall(r"\[Errno (\d+)\]", str(problem))  # one for each address of a name, in an error without a code
    return " and ".join(dict.fromkeys(os.strerror(int(code)).lower() for code in codes)) or repr(problem)


async def first_answer(ways: Sequence[Callable[[], Awaitable[T]]], seconds: float = NEXT_S) -> T:
    """Return the first answer; another way is tried when one fails, or when nothing came for this many seconds.

    Raises what the last one raised. If there are no ways, that is a broker which is not ready.
    """
    untried, waiting = list(reversed(ways)), set[asyncio.Task[T]]()
    problem: BaseException = NodeNotReadyError("no broker is known that could be asked")
    try:
        while untried or waiting:
            if untried:
                waiting.add(asyncio.ensure_future(untried.pop()()))
            done, waiting = await asyncio.wait(
                waiting, timeout=seconds if untried else None, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                problem = task.exception() or problem
            if answered := [task for task in done if task.exception() is None]:
                return answered[0].result()
    finally:
        await cancelled(*waiting)
    raise problem


# Requests


def _sent(send: Callable[..., Any]) -> Callable[..., Any]:
    """Notes since when an answer is owed, gives what is prompt its own deadline, and notices a closed connection."""

    @wraps(send)
    def sent(connection: AIOKafkaConnection, request: Any, *arguments: Any, **options: Any) -> Any:
        if not connection._requests:  # noqa: SLF001 -- nothing public tells what is owed
            connection.asked_at = time.monotonic()
        most = connection._request_timeout  # noqa: SLF001 -- read by `send` when it is called
        if _key(request) in PROMPT:
            connection._request_timeout = min(most, ANSWER_S)  # noqa: SLF001 -- likewise
        try:
            return send(connection, request, *arguments, **options)
        except RuntimeError as problem:
            if CLOSED not in str(problem):
                raise
            connection.close(reason=CloseReason.CONNECTION_BROKEN)
            raise KafkaConnectionError(f"Connection at {connection.host}:{connection.port} is gone") from problem
        finally:
            connection._request_timeout = most  # noqa: SLF001 -- likewise

    return sent


def _key(request: Any) -> int:
    return int(getattr(request, "API_KEY", getattr(request, "key", -1)))


def owes(connection: AIOKafkaConnection) -> bool:
    """Whether a broker was asked something, and has answered nothing for too long."""
    if not connection._requests:  # noqa: SLF001 -- nothing public tells what is owed
        return False
    since = max(connection.asked_at, connection._last_action)  # noqa: SLF001 -- of its last answer
    return bool(time.monotonic() - since > OWES_S)


# Connections


def _made_in_time(connect: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
    @wraps(connect)
    async def made(connection: AIOKafkaConnection) -> T:
        async with asyncio.timeout(CONNECT_S):
            return await connect(connection)

    return made


def _side_by_side(get: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Makes connections to several brokers at once; all that want the same one wait for one attempt."""

    @wraps(get)
    async def got(client: AIOKafkaClient, node: int, *, group: int = ConnectionGroup.DEFAULT, **options: Any) -> Any:
        known = client._conns.get((node, group))  # noqa: SLF001 -- this is its own method
        if known is not None and known.connected():
            return known
        making = _making(client)
        if (node, group) not in making:
            task = making[node, group] = asyncio.ensure_future(get(client, node, group=group, **options))
            task.add_done_callback(lambda _: making.pop((node, group), None))
        attempt = making[node, group]
        await asyncio.wait([attempt])
        return None if attempt.cancelled() else attempt.result()

    return got


def _making(client: AIOKafkaClient) -> "dict[tuple[Any, int], asyncio.Future[Any]]":
    found: dict[tuple[Any, int], asyncio.Future[Any]] = client.__dict__.setdefault("_making", {})
    return found


# Questions that any broker can answer


def _willing(client: AIOKafkaClient) -> list[Any]:
    """Return the known brokers in any order, those that owe an answer last."""
    nodes = [broker.nodeId for broker in client.cluster.brokers()]
    random.shuffle(nodes)
    silent = {node for (node, _), connection in client._conns.items() if owes(connection)}  # noqa: SLF001 -- as above
    return sorted(nodes, key=lambda node: node in silent)


async def _coordinator_lookup(client: AIOKafkaClient, kind: int, name: str) -> Any:
    """Return the coordinator. A passing error is raised as one after which all of aiokafka waits and asks again."""
    request = FindCoordinatorRequest(name, kind)
    try:
        answer = await first_answer([partial(client.send, node, request) for node in _willing(client)])
        if answer.error_code:
            error = for_code(answer.error_code)
            raise error
    except GroupCoordinatorNotAvailableError:
        raise
    except KafkaError as problem:
        if not problem.retriable:
            raise
        raise NodeNotReadyError(f"no broker named the coordinator of {name}: {problem!r}") from problem
    return answer.coordinator_id


async def _metadata_update(client: AIOKafkaClient, cluster: ClusterMetadata, topics: Collection[str] | None) -> bool:
    # Who only looks makes no topic, where brokers make those that are asked for.
    request = MetadataRequest(list(topics) if topics else None, cluster is client.cluster)
    known: list[Callable[[], Awaitable[Any]]] = [partial(client.send, node, request) for node in _willing(client)]
    try:
        answer = await first_answer([*known, *_configured(client, request)])
    except (KafkaError, OSError, TimeoutError) as problem:
        log.warning("no broker returned metadata: %r", problem)
        cluster.failed_update(None)
        await asyncio.sleep(client._retry_backoff)  # noqa: SLF001 -- what it is for; nothing public has it
        return False
    if not answer.brokers:  # a cluster that is just starting
        await asyncio.sleep(client._retry_backoff)  # noqa: SLF001 -- as above
        return False
    cluster.update_metadata(answer)
    if cluster is client.cluster:
        _give_up_lost(client)
        if _lacks_leader(client):
            await asyncio.sleep(NO_LEADER_S)
    return True


def _lacks_leader(client: AIOKafkaClient) -> bool:
    """Whether a topic that the client reads or writes has a partition without a leader, or is not there."""
    cluster, topics = client.cluster, client._topics or client.cluster.topics()  # noqa: SLF001 -- nothing public has them
    return any(
        not (partitions := cluster.partitions_for_topic(topic))
        or partitions != cluster.available_partitions_for_topic(topic)
        for topic in topics
    )


def _configured(client: AIOKafkaClient, request: MetadataRequest) -> Iterator[Callable[[], Awaitable[Any]]]:
    """Asks each of the configured servers, on a connection for that alone."""

    async def ask(host: str, port: int) -> Any:
        connection = await create_conn(host, port, **_options(client))
        try:
            return await connection.send(request)
        finally:
            connection.close(reason=CloseReason.SHUTDOWN)

    for host, port, _ in client.hosts:
        yield partial(ask, host, port)


def _options(client: AIOKafkaClient) -> dict[str, Any]:
    """Return the options of a connection, as the client itself sets them."""
    names = ("client_id", "request_timeout_ms", "ssl_context", "security_protocol")
    logins = ["mechanism", "plain_username", "plain_password", "oauth_token_provider"]
    logins += ["kerberos_service_name", "kerberos_domain_name"]
    return {name: getattr(client, f"_{name}") for name in (*names, *(f"sasl_{login}" for login in logins))}


async def _bootstrap(client: AIOKafkaClient) -> None:
    """Ask the configured servers for the cluster. Raises `NotReachable` if none of them answers."""
    try:
        answer = await first_answer(list(_configured(client, MetadataRequest([]))))
    except (KafkaError, OSError, TimeoutError) as problem:
        raise NotReachable(", ".join(f"{host}:{port}" for host, port, _ in client.hosts), problem) from problem
    client.cluster.update_metadata(answer)
    if client._sync_task is None:  # noqa: SLF001 -- this is its own method
        client._sync_task = asyncio.create_task(client._md_synchronizer())  # noqa: SLF001 -- likewise
        client.looking = asyncio.create_task(_look(client))


# Brokers that are gone


async def _look(client: AIOKafkaClient) -> None:
    """While a broker owes an answer, ask the others again and again which brokers there are."""
    while True:
        await asyncio.sleep(LOOK_S)
        # A connection that is still being made is owed the answer to its first question.
        if _making(client) or any(map(owes, client._conns.values())):  # noqa: SLF001 -- nothing public has them
            await client.force_metadata_update()


def _give_up_lost(client: AIOKafkaClient) -> None:
    """Give up the connections, and those being made, to brokers that metadata no longer name."""
    there = {broker.nodeId for broker in client.cluster.brokers()}
    for (node, _), attempt in list(_making(client).items()):
        if node not in there:
            attempt.cancel()
    # They stay where the client looks for them: requests that end just now find a closed connection, and not none.
    for (node, _), connection in list(client._conns.items()):  # noqa: SLF001 -- nothing public has them
        if node not in there and connection.connected():
            log.info("broker %s is gone: requests to it are sent elsewhere", node)
            connection.close(reason=CloseReason.CONNECTION_BROKEN)


def _closing(close: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    @wraps(close)
    async def closed(client: AIOKafkaClient) -> None:
        await cancelled(*_making(client).values(), *filter(None, [client.__dict__.pop("looking", None)]))
        await close(client)

    return closed


AIOKafkaConnection.asked_at = 0.0
AIOKafkaConnection.send = _sent(AIOKafkaConnection.send)
AIOKafkaConnection.connect = _made_in_time(AIOKafkaConnection.connect)
AIOKafkaClient._get_conn = _side_by_side(AIOKafkaClient._get_conn)  # noqa: SLF001 -- what this file is for
AIOKafkaClient._get_conn_lock = property(lambda _: asyncio.Lock())  # noqa: SLF001 -- one attempt at a time is enough
AIOKafkaClient._metadata_update = _metadata_update  # noqa: SLF001 -- what this file is for
AIOKafkaClient.coordinator_lookup = _coordinator_lookup
AIOKafkaClient.bootstrap = _bootstrap
AIOKafkaClient.close = _closing(AIOKafkaClient.close)
