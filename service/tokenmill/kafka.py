"""What every Kafka client of this package needs: its arguments from the settings, and patience with limits."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib import import_module
from inspect import iscoroutinefunction
from typing import Any, Protocol, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import (
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    KafkaError,
    NotCoordinatorForGroupError,
    ProducerClosed,
)
from aiokafka.partitioner import murmur2

from tokenmill import header_names, hung_brokers  # noqa: F401 -- they change how clients read and ask, whoever makes one
from tokenmill.aiokafka_inside import hear_failures, leave_while_joining, refuse_unsent, sending_task
from tokenmill.config import Kafka
from tokenmill.errors import CLOSED, ConfigError, Unavailable

log = logging.getLogger(__name__)

T = TypeVar("T")

NO_COORDINATOR = (GroupCoordinatorNotAvailableError, NotCoordinatorForGroupError, GroupLoadInProgressError)
"""The broker does not know yet who keeps a group's offsets: a cluster that is new makes a topic for them first."""

CALL_S = 15.0
"""Deadline of one call to the broker that is not a join, a fetch or a produce request."""

CUT_S = 1.0
"""For each step of ending a client that did not end by itself."""


class Client(Protocol):
    """What aiokafka's clients have in common."""

    async def start(self) -> None: ...
    async def stop(self) -> None: ...


C = TypeVar("C", bound=Client)


def client_options(kafka: Kafka) -> dict[str, Any]:
    """Arguments that all of aiokafka's clients take."""
    options: dict[str, Any] = {
        "bootstrap_servers": kafka.bootstrap_servers,
        "client_id": kafka.client_id,
        "security_protocol": kafka.security_protocol,
        "request_timeout_ms": kafka.request_timeout_ms,
    }
    if kafka.security_protocol.endswith("SSL"):
        options["ssl_context"] = _ssl_context(kafka)
    if kafka.security_protocol.startswith("SASL"):
        options |= _login(kafka)
    return options


def producer_options(kafka: Kafka) -> dict[str, Any]:
    """Arguments of a producer that the configuration decides."""
    return {**client_options(kafka), **kafka.producer}


def consumer_options(kafka: Kafka) -> dict[str, Any]:
    """Arguments of a consumer that the configuration decides."""
    return {**client_options(kafka), **kafka.consumer}


def _login(kafka: Kafka) -> dict[str, Any]:
    if kafka.sasl_mechanism == "OAUTHBEARER":
        return {"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_provider": Tokens(kafka.sasl_token_provider)}
    return {
        "sasl_mechanism": kafka.sasl_mechanism,
        "sasl_plain_username": kafka.sasl_username,
        "sasl_plain_password": kafka.sasl_password,
    }


class Tokens(AbstractTokenProvider):  # type: ignore[misc] # untyped base class
    """Tokens of a function that the configuration names as `module:function`.

    Raises `ConfigError` if there is none. It is code of the operator's, and runs with all that the process may do.
    """

    def __init__(self, name: str) -> None:
        module, _, function = name.partition(":")
        try:
            self._function = getattr(import_module(module), function)
        except (ImportError, ValueError, AttributeError) as problem:
            raise ConfigError([f"kafka.sasl_token_provider: there is no {name}: {problem}"]) from problem
        if not iscoroutinefunction(self._function):
            raise ConfigError([f"kafka.sasl_token_provider: {name} is no `async` function"])

    async def token(self) -> str:
        """A token for one login."""
        return str(await self._function())


async def deadline(call: Awaitable[T], what: str, seconds: float = CALL_S) -> T:
    """The result of a call that may not take longer. Raises `Unavailable` for a time-out or an error of Kafka's.

    Not by `asyncio.wait_for`, here or elsewhere: until Python 3.12 it loses a cancellation that comes with the result.
    """
    try:
        async with asyncio.timeout(seconds):
            return await call
    except TimeoutError as problem:
        raise Unavailable(f"Kafka: {what}: no answer within {seconds:g} s") from problem
    except (KafkaError, OSError) as problem:
        raise Unavailable(f"Kafka: {what}: {problem!r}") from problem
    except RuntimeError as problem:
        if CLOSED not in str(problem):
            raise
        raise Unavailable(f"Kafka: {what}: the connection is gone") from problem


def partition_of(key: bytes, partitions: int) -> int:
    """Where producers place a key among so many partitions: murmur2, as in the Java client."""
    return int(murmur2(key) & 0x7FFFFFFF) % partitions


def altering(topic: str, settings: str) -> str:
    """The command that gives a topic these settings, `key=value`, with commas between."""
    options = f"--entity-type topics --entity-name {topic} --add-config {settings}"
    return f"`kafka-configs --bootstrap-server … --alter {options}`"


async def offsets_since(
    consumer: AIOKafkaConsumer, places: Collection[TopicPartition], time_ms: int
) -> dict[TopicPartition, int]:
    """Of each partition the first offset whose timestamp is not below the time; its end where all are.

    A broker that finds nothing at any time in a log that has records can't look up by time, as librdkafka's mock can't:
    then it is the log's first.
    """
    what = "look up an offset by time"
    ends = await deadline(consumer.end_offsets(places), "look up the log's end")  # first: what comes now is read
    found = await deadline(consumer.offsets_for_times(dict.fromkeys(places, max(0, time_ms))), what)
    missing = [place for place in places if found[place] is None]
    if not missing:
        return {place: each.offset for place, each in found.items()}
    ever = await deadline(consumer.offsets_for_times(dict.fromkeys(missing, 0)), what)
    firsts = await deadline(consumer.beginning_offsets(missing), "look up the log's beginning")
    others = {place: ends[place] if ever[place] else firsts[place] for place in missing}
    return {place: others[place] if place in others else found[place].offset for place in places}


async def started(make: Callable[[], C], what: str, seconds: float) -> C:
    """A started client, a new one for each try. Raises `Unavailable` when the broker did not answer in time."""
    client = make()
    async with stopped_on_failure(client):
        await deadline(client.start(), what, seconds)
    return client


@asynccontextmanager
async def stopped_on_failure(client: Client) -> AsyncIterator[None]:
    """What has to be done before a client is of use: if it fails, or is cancelled, the client is stopped."""
    try:
        yield
    except BaseException:
        await stopped(client)
        raise


async def stopped(client: Client, seconds: float = CALL_S) -> None:
    """Stop a client; a broken one may raise or hang at that, which helps nobody now.

    A producer first writes what it has; what it does not get rid of in time is refused, and if this is cancelled, too.
    A consumer that waits for its group leaves that: else the others would wait for it, and a partition with them.
    """
    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(client.stop(), _leave(client))
    except BaseException as problem:
        log.info("a Kafka client did not stop cleanly: %r", problem)
        if isinstance(client, AIOKafkaProducer):
            await _cut_off(client)
        if not isinstance(problem, Exception):
            raise
    finally:
        if isinstance(client, AIOKafkaProducer):
            hear_failures(client)


async def _leave(client: Client) -> None:
    if isinstance(client, AIOKafkaConsumer):
        with suppress(KafkaError):
            await leave_while_joining(client)


async def _cut_off(producer: AIOKafkaProducer) -> None:
    """End a producer whose `stop` did not come to its end: its sender would go on as long as the process."""
    refuse_unsent(producer, ProducerClosed())
    sending: asyncio.Task[None] | None = sending_task(producer)  # there is none, if it did not start
    if sending is not None:
        sending.cancel()
    for _ in range(2):  # what the sender has under way may open a connection again
        with suppress(KafkaError, OSError, TimeoutError):
            async with asyncio.timeout(CUT_S):
                await producer.client.close()
        if sending is not None:
            await asyncio.wait([sending], timeout=CUT_S)


def _ssl_context(kafka: Kafka) -> ssl.SSLContext:
    """Raises `ConfigError` for files that hold no certificate, or not what belongs to it."""
    with _named("ssl_cafile", kafka.ssl_cafile):
        context = ssl.create_default_context(cafile=kafka.ssl_cafile or None)
    if kafka.ssl_certfile:
        with _named("ssl_certfile", f"{kafka.ssl_certfile} with {kafka.ssl_keyfile}"):
            context.load_cert_chain(kafka.ssl_certfile, kafka.ssl_keyfile, kafka.ssl_password or None)
    return context


@contextmanager
def _named(key: str, what: str) -> Iterator[None]:
    """The system names no file, and OpenSSL not even what is wrong."""
    try:
        yield
    except OSError as problem:
        raise ConfigError([f"kafka.{key}: {what} can't be used: {problem.strerror or problem}"]) from problem
