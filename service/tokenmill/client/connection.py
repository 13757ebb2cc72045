"""How a client of the service reaches Kafka."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import msgspec
from aiokafka.errors import KafkaError

from tokenmill.config import Kafka
from tokenmill.errors import Unavailable
from tokenmill.kafka.clients import client_options


class Connection(msgspec.Struct, frozen=True):
    """Where Kafka is, and how to be let in."""

    bootstrap_servers: str = "localhost:9092"
    """`host:port`, several with commas."""
    options: dict[str, Any] = {}
    """Further arguments of an aiokafka client: `security_protocol`, `ssl_context`, `sasl_*`, `request_timeout_ms`."""
    producer: dict[str, Any] = {}
    """Those of producers alone: `compression_type`."""
    consumer: dict[str, Any] = {}
    """Those of consumers alone: `client_rack`, `fetch_max_bytes`."""

    @classmethod
    def of(cls, kafka: Kafka) -> Self:
        """As the service's configuration says."""
        return cls(kafka.bootstrap_servers, client_options(kafka), {**kafka.producer}, {**kafka.consumer})

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of an aiokafka producer or consumer."""
        return {**self.options, "bootstrap_servers": self.bootstrap_servers}

    def producing(self) -> dict[str, Any]:
        """Those of a producer."""
        return {**self.arguments(), **self.producer}

    def consuming(self, **usual: Any) -> dict[str, Any]:
        """Those of a consumer; `usual` are taken where nothing else is said."""
        return {**usual, **self.arguments(), **self.consumer}

    @property
    def connecting(self) -> str:
        """What is being done, for the error of a client that can't start."""
        return f"connect to {self.bootstrap_servers}"


@contextmanager
def unavailable(doing: str) -> Iterator[None]:
    """Turn a Kafka error, or a deadline that passed, into `Unavailable` with a sentence that says what was tried."""
    try:
        yield
    except TimeoutError as late:
        raise Unavailable(f"Kafka: {doing}: no answer in time") from late
    except KafkaError as problem:
        raise Unavailable(f"Kafka: {doing}: {problem}") from problem
