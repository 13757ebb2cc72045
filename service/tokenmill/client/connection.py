"""How a client reaches Kafka: the arguments that every aiokafka client of this package is made with."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from aiokafka.errors import KafkaError

from tokenmill.errors import Unavailable


class Connection(msgspec.Struct, frozen=True):
    """Where Kafka is, and how to be let in."""

    bootstrap_servers: str = "localhost:9092"
    """`host:port`, several with commas."""
    security: dict[str, Any] = {}
    """aiokafka's `security_protocol`, `ssl_context`, `sasl_*`."""
    request_timeout_ms: int = 30_000
    """After this long a request has failed."""

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of an aiokafka producer or consumer."""
        return {
            "bootstrap_servers": self.bootstrap_servers,
            "request_timeout_ms": self.request_timeout_ms,
            **self.security,
        }


@contextmanager
def unavailable(doing: str) -> Iterator[None]:
    """Turn a Kafka error, or a deadline that passed, into `Unavailable` with a sentence that begins with `doing`."""
    try:
        yield
    except TimeoutError as late:
        raise Unavailable(f"{doing}: no answer in time; is Kafka up?") from late
    except KafkaError as problem:
        raise Unavailable(f"{doing}: {problem}") from problem
