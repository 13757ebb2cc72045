"""How a client reaches Kafka: the arguments that every aiokafka client of this package is made with."""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol, Self

import msgspec
from aiokafka.errors import KafkaError

from tokenmill.config import Kafka
from tokenmill.errors import Unavailable

STOP_DEADLINE_S = 10.0
"""For leaving in an orderly way: aiokafka's `stop` may hang or raise when its connection is broken."""


class Client(Protocol):
    """What aiokafka's clients have in common."""

    async def start(self) -> None: ...
    async def stop(self) -> None: ...


class Connection(msgspec.Struct, frozen=True):
    """Where Kafka is, and how to be let in."""

    bootstrap_servers: str = "localhost:9092"
    """`host:port`, several with commas."""
    security: dict[str, Any] = {}
    """aiokafka's `security_protocol`, `ssl_context`, `sasl_*`."""
    request_timeout_ms: int = 30_000
    """After this long a request has failed."""

    @classmethod
    def of(cls, kafka: Kafka) -> Self:
        """As the service's configuration says."""
        security: dict[str, Any] = {"security_protocol": kafka.security_protocol}
        if kafka.security_protocol.startswith("SASL"):
            security["sasl_mechanism"] = kafka.sasl_mechanism
            security["sasl_plain_username"] = kafka.sasl_username
            security["sasl_plain_password"] = kafka.sasl_password
        if kafka.security_protocol.endswith("SSL"):
            security["ssl_context"] = _ssl_context(kafka)
        return cls(kafka.bootstrap_servers, security)

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of an aiokafka producer or consumer."""
        return {
            "bootstrap_servers": self.bootstrap_servers,
            "request_timeout_ms": self.request_timeout_ms,
            **self.security,
        }


def _ssl_context(kafka: Kafka) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=kafka.ssl_cafile or None)
    if kafka.ssl_certfile:
        context.load_cert_chain(kafka.ssl_certfile, kafka.ssl_keyfile, kafka.ssl_password or None)
    return context


@contextmanager
def unavailable(doing: str) -> Iterator[None]:
    """Turn a Kafka error, or a deadline that passed, into `Unavailable` with a sentence that begins with `doing`."""
    try:
        yield
    except TimeoutError as late:
        raise Unavailable(f"{doing}: no answer in time; is Kafka up?") from late
    except KafkaError as problem:
        raise Unavailable(f"{doing}: {problem}") from problem


async def started(client: Client, connection: Connection) -> None:
    """Start a client; one that can't is stopped again. Raises `Unavailable`."""
    try:
        with unavailable(f"connecting to Kafka at {connection.bootstrap_servers}"):
            await client.start()
    except BaseException:
        await stopped(client)
        raise


async def stopped(client: Client) -> None:
    """Let a client stop, within a deadline; nobody waits for what it could still say."""
    with suppress(TimeoutError, KafkaError):
        async with asyncio.timeout(STOP_DEADLINE_S):
            await client.stop()
