"""The connection of a client of the service to Kafka."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import msgspec
from aiokafka.errors import KafkaError

from tokenmill.config import Kafka
from tokenmill.errors import Unavailable
from tokenmill.kafka.clients import client_options


class Connection(msgspec.Struct, frozen=True):
    """The addresses of Kafka's brokers, and arguments of aiokafka's clients, such as credentials."""

    bootstrap_servers: str = "localhost:9092"
    """`host:port`; several are separated by commas."""
    options: dict[str, Any] = {}
    """Further arguments of all clients: `security_protocol`, `ssl_context`, `sasl_*`, `request_timeout_ms`."""
    producer: dict[str, Any] = {}
    """Arguments of producers only, such as `compression_type`."""
    consumer: dict[str, Any] = {}
    """Arguments of consumers only, such as `client_rack` and `fetch_max_bytes`."""

    @classmethod
    def of(cls, kafka: Kafka) -> Self:
        """Return the connection of the service's configuration."""
        return cls(kafka.bootstrap_servers, client_options(kafka), {**kafka.producer}, {**kafka.consumer})

    def arguments(self) -> dict[str, Any]:
        """Return keyword arguments for any aiokafka client."""
        return {**self.options, "bootstrap_servers": self.bootstrap_servers}

    def producing(self) -> dict[str, Any]:
        """Return keyword arguments for an aiokafka producer."""
        return {**self.arguments(), **self.producer}

    def consuming(self, **usual: Any) -> dict[str, Any]:
        """Return keyword arguments for an aiokafka consumer; the connection's own override the `usual` ones."""
        return {**usual, **self.arguments(), **self.consumer}

    @property
    def connecting(self) -> str:
        """What a starting client does, for its error."""
        return f"connect to {self.bootstrap_servers}"


@contextmanager
def unavailable(doing: str) -> Iterator[None]:
    """Turn a Kafka error, or a `TimeoutError`, into `Unavailable`. `doing` is what was tried, for its message."""
    try:
        yield
    except TimeoutError as late:
        raise Unavailable(f"Kafka: {doing}: no answer in time") from late
    except KafkaError as problem:
        raise Unavailable(f"Kafka: {doing}: {problem}") from problem
