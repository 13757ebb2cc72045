"""The worker as one service of the host: start with patience, run, drain."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from mode import Service

from tokenmill.config import Config
from tokenmill.errors import ConfigError, FatalError, Unavailable
from tokenmill.kafka.aiokafka_inside import network
from tokenmill.kafka.calls import started, until_available
from tokenmill.kafka.clients import BATCH_BYTES, make_admin, make_consumer, make_producer
from tokenmill.kafka.topic_log import TopicLog, look, unrecognised
from tokenmill.kafka.topics import longest_batches, output_topics, partition_counts, settings_of
from tokenmill.observe import Hooks, Numbers
from tokenmill.observe.telemetry import NO_TELEMETRY, Telemetry
from tokenmill.partition import LogId, PartitionSettings
from tokenmill.store import GuardedStore, MemoryStore, RedisStore, SnapshotStore
from tokenmill.store.configured import configured
from tokenmill.store.sessions import RedisSessions
from tokenmill.tasks import beside, cancelled
from tokenmill.worker.engine import Engine
from tokenmill.worker.gauges import read_gauges
from tokenmill.worker.held import ROUND_S, HeldWatch, held
from tokenmill.worker.log_watch import ROUND_S as LOG_ROUND_S
from tokenmill.worker.log_watch import LogWatch
from tokenmill.worker.output_partitions import OutputPartitions
from tokenmill.worker.parts import Parts
from tokenmill.worker.sessions import SessionWriter
from tokenmill.worker.sizes import batch_bytes, fitting_limits
from tokenmill.worker.timeouts import AGE_ROUNDS, IDLE_ROUNDS, AgeCloser, IdleCloser
from tokenmill.worker.topic_checks import CHECKED, check_topics, refuse_compacted, topic_warnings
from tokenmill.worker.watch import Pulse, Watch

log = logging.getLogger(__name__)

STORE_DEADLINE_S = 10.0
"""Seconds for one whole operation on the store: a load may take many pages, each with its own short time-out."""

MARGIN_S = 5.0
"""Seconds of the shutdown time that are kept for leaving the group and closing connections."""


class WorkerService(Service):
    """Starts the engine as soon as Kafka can be reached, and ends the process when it can't continue."""

    logger = logging.getLogger("mode.worker")  # under which the host logs of its services

    def __init__(
        self,
        config: Config,
        numbers: Numbers,
        hooks: Hooks,
        telemetry: Telemetry = NO_TELEMETRY,
        *,
        failing: Callable[[], None],
        **options: Any,
    ) -> None:
        """`failing` is called once, when the worker can't continue."""
        super().__init__(**options)
        self._config = config
        self._numbers = numbers
        self._hooks = hooks
        self._telemetry = telemetry
        self._failing = failing
        self._engine: Engine | None = None
        self._pulse = Pulse(config.worker.stall_timeout_s, numbers)
        numbers.read_value("tokenmill_assigned_partitions", lambda: 0)  # until Kafka answers and there is an engine
        self._starting: asyncio.Task[None] | None = None
        self._stopping = False
        self._said: set[str] = set()
        self.failure: Exception | None = None

    def readiness(self) -> tuple[bool, str]:
        """What `/readyz` answers, and why."""
        if self._engine is None:
            return False, "starting"
        if self._stopping or self._engine.draining:
            return False, "draining"
        if not self._engine.ready:
            return False, "restoring"
        waiting, outputs = held(self._engine), self._engine.output_partitions
        why = f", {len(waiting)} held: {outputs.sentence(waiting[-1].partition)}" if waiting else ""
        return True, f"{len(self._engine.lanes)} partitions{why}"

    # Start

    async def on_start(self) -> None:
        """Return immediately: the web endpoints must answer while the worker waits for Kafka."""
        self._pulse.watch()
        self._starting = asyncio.create_task(self._begin())

    async def _begin(self) -> None:
        try:
            async with beside(self._pulse.beat(_nothing), "pulse"):  # the loop turns while Kafka is away
                engine = await until_available(self._connect, self._config.kafka.startup_timeout_s)
                self._engine = self._run(engine)
        except Exception as problem:  # noqa: BLE001 -- the host would not hear of it
            self._fail(problem)

    def _run(self, engine: Engine) -> Engine:
        """Start the engine's work, and all that is looked after from time to time."""
        read_gauges(self._numbers, engine)
        engine.start()
        idle = IdleCloser(engine)
        watch = Watch(engine, self._config.worker.stall_timeout_s)
        engine.add_task(self._pulse.beat(watch.look), "watch")
        engine.add_task(_every(ROUND_S, HeldWatch(engine).look), "held")
        engine.add_task(_every(LOG_ROUND_S, LogWatch(engine).look), "log")
        engine.add_task(_every(IDLE_ROUNDS.seconds(self._config.worker.idle_timeout_s), idle.look), "idle")
        engine.add_task(_every(AGE_ROUNDS.seconds(self._config.worker.max_age_s), AgeCloser(engine).look), "age")
        return engine

    async def _connect(self) -> Engine:
        """Take the steps of a start; when one finds Kafka unavailable, all are taken again."""
        config = self._config
        settings = PartitionSettings.from_config(config)
        async with make_admin(config.kafka) as admin:
            topics = [config.topics.tokens, *output_topics(config)]
            counts = await partition_counts(admin, topics)
            check_topics(config, counts)
            reported = await settings_of(admin, dict.fromkeys(topics, CHECKED))
            refuse_compacted(config.topics.tokens, reported)
            self._warn(topic_warnings(config, reported))
            largest = longest_batches(reported)
            input_bytes = largest.pop(config.topics.tokens, BATCH_BYTES)
            settings = fitting_limits(settings, largest)
            log_id = self._identified(await look(network(admin), config.topics.tokens))
        size = min(batch_bytes(settings), input_bytes)  # control records go to the input in batches, too
        seconds = config.kafka.rebalance_timeout_ms / 1000
        store, sessions = self._store(log_id.cluster), self._sessions(log_id.cluster)  # either may refuse its URL
        producer = await started(lambda: make_producer(config.kafka, size), "start the producer", seconds)
        engine: Engine | None = None
        consumer = make_consumer(config.kafka)
        engine = Engine(
            Parts(
                config=config,
                settings=settings,
                consumer=consumer,
                producer=producer,
                store=store,
                numbers=self._numbers,
                hooks=self._hooks,
                fail=self._fail,
                telemetry=self._telemetry,
                sessions=sessions,
                output_partitions=OutputPartitions(config.topics.tokens, counts),
            )
        )
        engine.subscribe()
        try:
            await started(lambda: consumer, "join the group", 2 * seconds)
        except BaseException:
            await engine.close()
            raise
        return engine

    def _identified(self, found: TopicLog) -> LogId:
        """Warn about what this broker does not report; return the log's identity."""
        self._warn(f"the broker {lost}" for lost in unrecognised(found))
        return found.log

    def _warn(self, sentences: Iterable[str]) -> None:
        """Log each once, however often a start is tried."""
        for sentence in sentences:
            if sentence not in self._said:
                log.warning("%s", sentence)
                self._said.add(sentence)

    def _store(self, cluster: str) -> GuardedStore:
        store: SnapshotStore = configured(RedisStore, self._config, cluster) or MemoryStore()
        return GuardedStore(
            store,
            deadline=STORE_DEADLINE_S,
            failed=lambda op, _: self._numbers.add("tokenmill_redis_errors_total", op),
        )

    def _sessions(self, cluster: str) -> SessionWriter | None:
        store = configured(RedisSessions, self._config, cluster) if self._config.topics.sessions else None
        return None if store is None else SessionWriter(store, self._numbers)

    # End

    def _fail(self, problem: Exception) -> None:
        """Log why the worker can't continue, and end it. What is uncommitted is published again."""
        if self.failure is not None or self._stopping:
            log.info("while ending: %r", problem)
            return
        self.failure = problem
        known = isinstance(problem, FatalError | ConfigError | Unavailable)
        log.critical("%s", problem, exc_info=None if known else problem)
        self._failing()
        self.add_future(self.crash(problem))

    async def on_stop(self) -> None:
        """Drain if all is well; after a failure only close."""
        self._stopping = True
        self._pulse.stop()
        seconds = max(self._config.worker.shutdown_timeout_s - MARGIN_S, 1.0)
        if self._starting is not None:
            await cancelled(self._starting, seconds=seconds)  # it leaves the group, if it was about to join
        if self._engine is None:
            return
        if self.failure is None:
            log.info("draining")
            await self._engine.drain(seconds)
            log.info("drained")
        else:
            await self._engine.close()


def _nothing() -> None:
    """Do nothing: there is no engine to watch yet."""


async def _every(seconds: float, look: Callable[[], Awaitable[None] | None]) -> None:
    while True:
        await asyncio.sleep(seconds)
        looking = look()
        if looking is not None:
            await looking
