"""What every Kafka client of this package needs: its arguments from the settings, and patience with limits."""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from aiokafka.errors import KafkaError

from tokenmill.config import Kafka
from tokenmill.errors import Unavailable

log = logging.getLogger(__name__)

T = TypeVar("T")

CALL_S = 15.0
"""Deadline of one call to the broker that is not a join, a fetch or a produce request."""


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
        options["sasl_mechanism"] = kafka.sasl_mechanism
        options["sasl_plain_username"] = kafka.sasl_username
        options["sasl_plain_password"] = kafka.sasl_password
    return options


async def deadline(call: Awaitable[T], what: str, seconds: float = CALL_S) -> T:
    """The result of a call that may not take longer. Raises `Unavailable` for a time-out or an error of Kafka's."""
    try:
        return await asyncio.wait_for(call, seconds)
    except TimeoutError as problem:
        raise Unavailable(f"Kafka: {what}: no answer within {seconds:g} s") from problem
    except (KafkaError, OSError) as problem:
        raise Unavailable(f"Kafka: {what}: {problem!r}") from problem


async def started(make: Callable[[], C], what: str, seconds: float) -> C:
    """A started client, a new one for each try. Raises `Unavailable` when the broker did not answer in time."""
    client = make()
    try:
        await deadline(client.start(), what, seconds)
    except BaseException:
        await stopped(client)
        raise
    return client


async def stopped(client: Client, seconds: float = CALL_S) -> None:
    """Stop a client; a broken one may raise or hang at that, which helps nobody now."""
    try:
        await asyncio.wait_for(client.stop(), seconds)
    except Exception as problem:  # noqa: BLE001 -- see above
        log.info("a Kafka client did not stop cleanly: %r", problem)


def _ssl_context(kafka: Kafka) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=kafka.ssl_cafile or None)
    if kafka.ssl_certfile:
        context.load_cert_chain(kafka.ssl_certfile, kafka.ssl_keyfile, kafka.ssl_password or None)
    return context
