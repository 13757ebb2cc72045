"""What an engine is made of."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from tokenmill.config import Config
from tokenmill.observe import Hooks, Numbers
from tokenmill.observe.telemetry import NO_TELEMETRY, Telemetry
from tokenmill.partition import PartitionSettings
from tokenmill.store import GuardedStore
from tokenmill.worker.output_partitions import OutputPartitions
from tokenmill.worker.sessions import SessionWriter


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Clients, stores and settings, which the service makes once and the engine's members share."""

    config: Config
    settings: PartitionSettings
    consumer: AIOKafkaConsumer
    producer: AIOKafkaProducer
    """Idempotent, without transactions."""
    store: GuardedStore
    numbers: Numbers
    hooks: Hooks
    fail: Callable[[Exception], None]
    """Called with why the worker can't continue; the process ends."""
    telemetry: Telemetry = NO_TELEMETRY
    sessions: SessionWriter | None = None
    """Keeps a copy of the topic `sessions`, if there is one."""
    output_partitions: OutputPartitions = field(default_factory=OutputPartitions)
    """How many partitions the outputs have."""
    clock: Callable[[], float] = time.monotonic
    """In seconds, for intervals and patience."""
