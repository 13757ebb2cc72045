"""The surroundings of the sides of the pipeline benchmark: a Kafka, a Redis, and topics of their own."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from aiokafka.admin import AIOKafkaAdminClient

from tokenmill.bench.clock import Progress
from tokenmill.bench.kafka import Watch
from tokenmill.bench.load import PARTITIONS, Shape, shape_of
from tokenmill.bench.passthrough import Job, PassThrough
from tokenmill.bench.recoding import Recoding
from tokenmill.bench.streams import KafkaStreams, Streaming
from tokenmill.bench.transacting import Transacting
from tokenmill.parser import Options
from tokenmill.partition import PartitionSettings
from tokenmill.servers import KafkaServer, RedisServer
from tokenmill.servers.ours import Settings
from tokenmill.servers.process import Server
from tokenmill.servers.worker import WorkerProcess

PASS_THROUGH, AT_LEAST_ONCE, EXACTLY_ONCE = SIDES = ("pass-through", "at-least-once", "exactly-once")
"""The reference, and a worker with each kind of delivery, named as the setting is."""

WORKERS = SIDES[1:]

BEFORE = {f"{side}, before": side for side in WORKERS}
"""Workers of another checkout, each with the name of ours."""

RE_ENCODING = "re-encoding"
"""The least that a worker in Python can do."""

IN_TRANSACTIONS = "pass-through in transactions"
"""The least that exactly-once can do."""

STREAMS = {"Kafka Streams": AT_LEAST_ONCE, "Kafka Streams, exactly-once": EXACTLY_ONCE}
"""The peer with each kind of delivery."""

COMMIT_INTERVAL_MS = 100
"""Milliseconds between commits of the pass-through and of at-least-once: the service's default."""

TRANSACTION_INTERVAL_MS = 50
"""Milliseconds between transactions of exactly-once: the service's default."""


class Workbench:
    """A set of topics, and the processes that work on them. The Kafka may be one that is used for other things."""

    def __init__(
        self,
        folder: Path,
        bootstrap: str,
        redis_url: str,
        shape: Shape,
        partitions: int = PARTITIONS,
        before: Path | None = None,
    ) -> None:
        """`before` is the checkout of the workers that are called `before`."""
        self.bootstrap = bootstrap
        self.partitions = partitions
        """Number of partitions of each topic."""
        self.shape = shape
        """Shape of the load, which decides the size of the pass-through's records."""
        self._folder = folder
        self._before = before
        self.redis_url = redis_url
        name = f"tokenmill-bench-{uuid4().hex[:8]}"
        self.tokens, self._events, self._calls, self._dlq, self._copies = self.topics = [
            f"{name}-{what}" for what in ("tokens", "events", "tool-calls", "dlq", "copies")
        ]

    def outputs(self, side: str) -> list[str]:
        """Return the topics that a side writes to, the one with all events first."""
        return [self._events, self._calls] if _delivery(side) else [self._copies]

    def outputs_per_record(self, side: str) -> float:
        """Return the number of records that a side must write for each that it reads."""
        return self.shape.outputs_per_record if _delivery(side) else 1.0

    def process(self, side: str, group: str, number: int = 0) -> Server:
        """Return a process of a side, in a fresh consumer group or beside others of the group."""
        folder = self._folder / f"{group}-{number}"
        if delivery := _delivery(side):
            return WorkerProcess(folder, self._settings(delivery, group), self._before if side in BEFORE else None)
        way = self.bootstrap, group, self.tokens, self._copies
        if delivery := STREAMS.get(side):
            interval_ms = COMMIT_INTERVAL_MS if delivery == AT_LEAST_ONCE else TRANSACTION_INTERVAL_MS
            return KafkaStreams(folder, Streaming(*way, delivery=delivery, commit_interval_ms=interval_ms))
        size, interval_s = round(self.shape.mean_output_bytes), COMMIT_INTERVAL_MS / 1_000
        kind = {RE_ENCODING: Recoding, IN_TRANSACTIONS: Transacting}.get(side, PassThrough)
        return kind(folder, Job(*way, value_bytes=size, commit_interval_s=interval_s))

    def watch(self, admin: AIOKafkaAdminClient, group: str, process: Server) -> Watch:
        """Return the watch over a group's progress through the input, with one of its processes."""
        return Watch(admin, group, self.tokens, process, self.partitions)

    def _settings(self, delivery: str, group: str) -> Settings:
        return {
            "kafka": {"bootstrap_servers": self.bootstrap, "group_id": group},
            "redis": {"url": self.redis_url, "key_prefix": group},
            "topics": {"tokens": self.tokens, "events": self._events, "tool_calls": self._calls, "dlq": self._dlq},
            "parser": {"format": "hermes"},
            "worker": {
                "delivery": delivery,
                "commit_interval_ms": COMMIT_INTERVAL_MS,
                "transaction_interval_ms": TRANSACTION_INTERVAL_MS,
            },
        }


def _delivery(side: str) -> str | None:
    """Return the delivery of a worker, ours or that of another checkout; None for the other sides."""
    found = BEFORE.get(side, side)
    return found if found in WORKERS else None


class Ground(NamedTuple):
    """The servers that workbenches are set up on."""

    folder: Path
    bootstrap: str
    broker: Server | None
    """The Kafka, if it was started for this."""
    redis: RedisServer
    shape: Shape

    def workbench(self, partitions: int = PARTITIONS, before: Path | None = None) -> Workbench:
        """Return a workbench with topics of its own."""
        return Workbench(self.folder, self.bootstrap, self.redis.url, self.shape, partitions, before)


@contextmanager
def ground(bootstrap: str | None, progress: Progress) -> Iterator[Ground]:
    """Yield the Kafka at `bootstrap`, or a new one, and a Redis; servers started here end with the block."""
    with tempfile.TemporaryDirectory(prefix="tokenmill-bench-") as scratch, ExitStack() as servers:
        folder, broker = Path(scratch), None
        if bootstrap is None:
            progress("starting Kafka")
            broker = servers.enter_context(KafkaServer(folder / "kafka", heap="1g"))
            bootstrap = broker.bootstrap
        redis = servers.enter_context(RedisServer(folder / "redis"))
        yield Ground(folder, bootstrap, broker, redis, shape_of(PartitionSettings(defaults=Options(format="hermes"))))


def new_group() -> str:
    """Return a new name for a consumer group."""
    return f"tokenmill-bench-{uuid4().hex[:8]}"
