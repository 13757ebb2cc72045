"""Kafka clients made from the configuration.

The values that are fixed here are those that the promises need; what an operator may choose is in the configuration.
"""

import asyncio
import ssl
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from inspect import iscoroutinefunction
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaConnectionError, KafkaError
from msgspec import structs

from tokenmill.config import Kafka
from tokenmill.errors import ConfigError, Unavailable, raised_at
from tokenmill.kafka.calls import CALL_S, deadline
from tokenmill.limits import KIB, MIB

FETCH_WAIT_MS = 50
"""Milliseconds that a fetch waits. One is in flight per broker; while it waits, resumed partitions wait with it."""

READER_WAIT_MS = 500
"""Milliseconds for readers that read much, or that nobody waits for."""

FETCH_PARTITION_BYTES = 512 * KIB
"""Bytes of one partition in one fetch; a longer record still comes, alone."""

FETCH_BYTES = 16 * MIB
"""Bytes of all partitions in one fetch: bounds what is read and not yet parsed."""

METADATA_MS = 30_000
"""Milliseconds that the client's view of topics may be old: by then partitions that were added are used."""

BATCH_BYTES = 512 * KIB
"""Bytes of the largest record batch. The broker's default limit for one is 1 MiB."""


def client_options(kafka: Kafka) -> dict[str, Any]:
    """Return arguments that all of aiokafka's clients take."""
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
    """Return arguments of a producer that the configuration decides."""
    return {**client_options(kafka), **kafka.producer}


def with_batches(options: Mapping[str, Any], largest: int) -> dict[str, Any]:
    """Return a producer's arguments with batches of at most this many bytes, or fewer if `max_batch_size` asks for it.

    The broker refuses all records of a batch that is too large. One record may still be as long as its topic takes.
    """
    return {**options, "max_batch_size": min(largest, options.get("max_batch_size", largest))}


def consumer_options(kafka: Kafka) -> dict[str, Any]:
    """Return arguments of a consumer that the configuration decides."""
    return {**client_options(kafka), **kafka.consumer}


def from_leaders(kafka: Kafka) -> Kafka:
    """Return settings whose consumers read from leaders: a follower that is cut off from its leader has an old end."""
    return structs.replace(kafka, consumer={key: kafka.consumer[key] for key in kafka.consumer if key != "client_rack"})


def _login(kafka: Kafka) -> dict[str, Any]:
    if kafka.sasl_mechanism == "OAUTHBEARER":
        return {"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_provider": Tokens(kafka.sasl_token_provider)}
    return {
        "sasl_mechanism": kafka.sasl_mechanism,
        "sasl_plain_username": kafka.sasl_username,
        "sasl_plain_password": kafka.sasl_password,
    }


class Tokens(AbstractTokenProvider):  # type: ignore[misc] # untyped base class
    """Tokens from a function that the configuration names as `module:function`.

    Raises `ConfigError` if there is none. It is the operator's code, and may do all that the process may.
    What it raises becomes a lost connection: aiokafka tries that again, and any other error ends its background tasks.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        module, _, function = name.partition(":")
        try:
            self._function = getattr(import_module(module), function)
        except (ImportError, ValueError, AttributeError) as problem:
            raise ConfigError([f"kafka.sasl_token_provider: there is no {name}: {problem}"]) from problem
        if not iscoroutinefunction(self._function):
            raise ConfigError([f"kafka.sasl_token_provider: {name} is not an `async` function"])

    async def token(self) -> str:
        """Return a token for one login. Raises `KafkaConnectionError`, without the text of what the function raised."""
        try:
            return str(await self._function())
        except Exception as problem:  # noqa: BLE001 -- code of the operator's
            told = f"kafka.sasl_token_provider: {self._name} raised {raised_at(problem)}"
        raise KafkaConnectionError(told)


def _ssl_context(kafka: Kafka) -> ssl.SSLContext:
    """Make a context. Raises `ConfigError` for files that hold no certificate, or not the key that belongs to it."""
    with _named("ssl_cafile", kafka.ssl_cafile):
        context = ssl.create_default_context(cafile=kafka.ssl_cafile or None)
    if kafka.ssl_certfile:
        with _named("ssl_certfile", f"{kafka.ssl_certfile} with {kafka.ssl_keyfile}"):
            context.load_cert_chain(kafka.ssl_certfile, kafka.ssl_keyfile, kafka.ssl_password or None)
    return context


@contextmanager
def _named(key: str, what: str) -> Iterator[None]:
    """Name the file in errors: the system does not, and OpenSSL does not even name what is wrong."""
    try:
        yield
    except OSError as problem:
        raise ConfigError([f"kafka.{key}: {what} can't be used: {problem.strerror or problem}"]) from problem


def make_consumer(kafka: Kafka, reset: str = "none") -> AIOKafkaConsumer:
    """Make a member of the consumer group; `subscribe` it before its start.

    No deserializer: one that raises would stop the partition. No `reset` of offsets: skipping data is our decision.
    """
    usual = {
        "metadata_max_age_ms": METADATA_MS,
        "fetch_max_wait_ms": FETCH_WAIT_MS,
        "fetch_max_bytes": FETCH_BYTES,
        "max_partition_fetch_bytes": FETCH_PARTITION_BYTES,
    }
    return AIOKafkaConsumer(
        **usual | consumer_options(kafka),
        isolation_level="read_committed",
        group_id=kafka.group_id,
        group_instance_id=kafka.group_instance_id or None,
        session_timeout_ms=kafka.session_timeout_ms,
        heartbeat_interval_ms=kafka.heartbeat_interval_ms,
        rebalance_timeout_ms=kafka.rebalance_timeout_ms,
        enable_auto_commit=False,
        auto_offset_reset=reset,
    )


def make_reader(kafka: Kafka, wait_ms: int = READER_WAIT_MS, reset: str = "earliest") -> AIOKafkaConsumer:
    """Make a reader that is in no group, sees what is committed, and has the partitions that it is assigned.

    `wait_ms` is how long a fetch of nothing takes: a Kafka ends one as soon as something comes, the embedded broker
    does not. The configuration may only shorten it, as some readers expect an answer in that time. `reset` is where a
    reader continues whose offset the log no longer holds; with "none" it gets an error.
    """
    options = consumer_options(kafka)
    options["fetch_max_wait_ms"] = min(wait_ms, options.get("fetch_max_wait_ms", wait_ms))
    return AIOKafkaConsumer(
        **options,
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset=reset,
        isolation_level="read_committed",
    )


def make_producer(kafka: Kafka, batch_bytes: int = BATCH_BYTES, **transactions: Any) -> AIOKafkaProducer:
    """Make an idempotent producer: a retry neither doubles nor reorders a partition's records.

    `transactions` are the client's own arguments, for one that publishes in transactions.
    """
    options = with_batches(producer_options(kafka), batch_bytes)
    return AIOKafkaProducer(**options, enable_idempotence=True, acks="all", **transactions)


async def find_partitions(producer: AIOKafkaProducer, topics: Collection[str], numbers: Collection[int]) -> None:
    """Make sure that a producer knows these partitions of its topics. Raises `Unavailable` if it can't yet.

    Its view of a topic may be minutes old, or that of a broker that has not heard of new partitions; for a partition
    that it does not know it fails with an assertion.
    """
    client = producer.client
    await deadline(asyncio.gather(*map(client.add_topic, topics)), "look for the outputs")
    unknown = [topic for topic in topics if not _has(client.cluster.partitions_for_topic(topic), numbers)]
    if unknown:
        await deadline(client.force_metadata_update(), "look for the outputs")
    for topic in unknown:
        if not _has(client.cluster.partitions_for_topic(topic), numbers):
            raise Unavailable(f"Kafka: the broker does not know all partitions of {topic} yet")


def _has(partitions: Collection[int] | None, numbers: Collection[int]) -> bool:
    return set(numbers) <= set(partitions or ())


def make_admin(kafka: Kafka) -> "Admin":
    """Return a client for topics and their settings, as a context manager."""
    return Admin(client_options(kafka))


class Admin:
    """`async with make_admin(kafka) as admin`: started and closed with deadlines."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        """`options` are arguments that all of aiokafka's clients take."""
        self._client = AIOKafkaAdminClient(**options)
        self._connecting = f"connect to {options['bootstrap_servers']}"

    async def __aenter__(self) -> AIOKafkaAdminClient:
        try:
            await deadline(self._client.start(), self._connecting)
        except BaseException:
            await self.__aexit__()
            raise
        return self._client

    async def __aexit__(self, *exception: object) -> None:
        with suppress(KafkaError, OSError, TimeoutError):
            async with asyncio.timeout(CALL_S):
                await self._client.close()
