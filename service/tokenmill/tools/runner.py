"""A member of the group that runs calls: which partitions it has, and what it reads of them.

1. A partition is read once its queue has taken over: the owner before is fenced, and its claims are read.
2. All partitions are given up at each rebalance, and most of them come back. These keep their queues, and their calls
   continue. The runner waits a while for running calls first, so that few of those that move are cut off.
3. While more calls wait than may run, nothing is read; the member still sends heartbeats.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition

from tokenmill.config import Config
from tokenmill.errors import FatalError, TokenmillError, Unavailable
from tokenmill.kafka.aiokafka_inside import generation_of, member_id_of
from tokenmill.kafka.believed_ends import BelievedEnds
from tokenmill.kafka.calls import running, started, stopped, until_available
from tokenmill.kafka.client_tasks import must_read
from tokenmill.kafka.clients import find_partitions, make_consumer, make_producer, make_reader
from tokenmill.kafka.group import committed_offsets, still_a_member
from tokenmill.kafka.lookup import bounds_of
from tokenmill.kafka.static_membership import StaticMembership
from tokenmill.kafka.to_end import ToEnd
from tokenmill.kafka.topic_presence import TopicPresence
from tokenmill.kafka.topics import find_topic
from tokenmill.kafka.transaction import Transaction, transactional_id
from tokenmill.observe import Numbers
from tokenmill.observe.telemetry import NO_TELEMETRY, Telemetry
from tokenmill.process import EXIT_S, Deadline, Failure, Part, ToldToStop, before, run_until
from tokenmill.records import number_of
from tokenmill.tasks import beside, cancelled
from tokenmill.tools.call_queue import CallQueue
from tokenmill.tools.concurrency_limits import ConcurrencyLimits
from tokenmill.tools.control import Orders
from tokenmill.tools.control_log import ControlLog
from tokenmill.tools.link import Links
from tokenmill.tools.outcome import Outcome
from tokenmill.tools.running_calls import Servers
from tokenmill.tools.tracing import TracedServers

log = logging.getLogger(__name__)

POLL_MS = 200
"""Milliseconds that one look for records lasts; between two of them partitions are paused and resumed."""

LOOK_S = 0.02

OPENINGS = 4
"""Queues that take over at once: each makes connections of its own."""


class Runner(ConsumerRebalanceListener):  # type: ignore[misc] # untyped base class
    """Reads `tool-calls` as a member of the group."""

    def __init__(
        self,
        config: Config,
        links: Links,
        numbers: Numbers,
        telemetry: Telemetry = NO_TELEMETRY,
        deadline: Deadline | None = None,
    ) -> None:
        self._config = config
        self._deadline = deadline
        self._handover_s = min(config.tools.handover_s, config.kafka.rebalance_timeout_ms / 2_000)
        self._kafka = msgspec.structs.replace(config.kafka, group_id=config.tools.group_id)
        self._links = links
        self._servers: Servers = TracedServers(links, telemetry) if telemetry.on else links
        self._numbers = numbers
        self._orders = Orders()
        self._control = ControlLog(
            self._kafka,
            config.topics.tool_control,
            config.tools.expire_s + config.tools.approve_s,
            self._orders.take,
            self._wake_queues,
        )
        own = {name: link.calls for name, link in links if link.calls is not None}
        self._limits = ConcurrencyLimits(config.tools.calls, config.tools.calls_per_server, own)
        self._queues: dict[TopicPartition, CallQueue] = {}
        self._work: dict[TopicPartition, asyncio.Task[None]] = {}
        self._ready: set[TopicPartition] = set()
        self._openings = asyncio.Semaphore(OPENINGS)
        self._ends = BelievedEnds()
        self._presence = TopicPresence(config.topics.tool_calls)
        self._draining = False
        self._failure = Failure()
        self._consumer: AIOKafkaConsumer | None = None
        self._static_membership = StaticMembership(self._kafka)
        self._read_gauges()

    def _read_gauges(self) -> None:
        def of_queues(name: str, count: Callable[[CallQueue], int]) -> None:
            self._numbers.read_value(name, lambda: sum(map(count, self._queues.values())))

        of_queues("tokenmill_tools_running", lambda queue: queue.running)
        of_queues("tokenmill_tools_waiting", lambda queue: queue.waiting)
        of_queues("tokenmill_tools_asking", lambda queue: queue.asking)
        self._numbers.read_value("tokenmill_tools_running_limit", lambda: self._config.tools.calls)
        self._numbers.read_value("tokenmill_tools_partitions", lambda: len(self._ready))
        up = "tokenmill_tools_server_up"
        self._numbers.read(up, lambda: [((name,), link.up) for name, link in self._links])

    def _wake_queues(self) -> None:
        """Have all queues look at new orders."""
        for queue in self._queues.values():
            queue.hear()

    def _count(self, outcome: Outcome) -> None:
        self._numbers.add("tokenmill_tools_calls_total", outcome.code or "result")
        if outcome.elapsed_ms:
            self._numbers.histograms["tokenmill_tools_call_duration_seconds"].observe(outcome.elapsed_ms / 1000)

    def readiness(self) -> tuple[bool, str]:
        """Whether it runs calls, and why not. One that has no partition is ready for some."""
        if self._draining:
            return False, "draining"
        if self._presence.lacks:
            return False, self._presence.lacks
        taking = len(self._queues) - len(self._ready)
        return (False, f"{taking} partitions are being taken over") if taking else (True, "ready")

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop`, then wait for calls that run. Raises a `TokenmillError` if the runner can't continue."""
        try:
            consumer = await before(stop, until_available(self._join, self._kafka.startup_timeout_s))
        except ToldToStop:
            return
        parts: dict[str, Part] = {
            "the reader of calls": partial(self._poll, consumer),
            "the reader of what people say": self._control.run,
            "the runner": self._failure.wait,
        }
        try:
            async with run_until(stop, parts, self._deadline) as tasks:
                self._draining = True
                await self._drain(tasks["the runner"])
        finally:
            await asyncio.gather(*(self._give_up(place) for place in list(self._queues)))
            await stopped(consumer)

    async def _drain(self, failing: "asyncio.Task[None]") -> None:
        """Wait for calls that run. Raises what `failing` raises: nobody could write their results then."""
        async with beside(self._finish(), "the drain") as draining:
            done, _ = await asyncio.wait((draining, failing), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()

    async def _finish(self) -> None:
        await self._wait_for_calls(self._config.tools.drain_s)
        await self._leave_in_doubt()

    async def _join(self) -> AIOKafkaConsumer:
        """Return a consumer that has joined the group. Raises `Unavailable` and `ConfigError`."""
        await find_topic(self._kafka, self._config.topics.tool_calls)
        return await started(self._make_consumer, "join the group", self._kafka.startup_timeout_s)

    def _make_consumer(self) -> AIOKafkaConsumer:
        self._consumer = make_consumer(self._kafka, "earliest")  # each queue finds where its partition begins
        self._consumer.subscribe([self._config.topics.tool_calls], listener=self)
        return self._consumer

    async def _poll(self, consumer: AIOKafkaConsumer) -> None:
        while True:
            must_read(consumer)
            await self._presence.look(consumer)
            self._hold(consumer)
            for place, records in (await consumer.getmany(timeout_ms=POLL_MS)).items():
                if place in self._ready:
                    self._queues[place].give(records)

    def _hold(self, consumer: AIOKafkaConsumer) -> None:
        """Pause what is not to be read now, and nothing else."""
        full = sum(queue.unfinished for queue in self._queues.values()) >= 2 * self._config.tools.calls
        wanted = set() if full or self._draining else self._ready
        paused = consumer.paused()
        consumer.resume(*(wanted & paused))
        consumer.pause(*(consumer.assignment() - wanted - paused))

    # Partitions come and go

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:  # noqa: ARG002 -- always all
        """Wait for calls that run: their partitions may move."""
        await self._wait_for_calls(self._handover_s)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Continue partitions that come back, and take over new ones."""
        try:
            await self._assign(set(assigned))
        except Exception as problem:  # noqa: BLE001 -- the client would swallow it
            self._failure.tell(problem)

    async def _assign(self, places: set[TopicPartition]) -> None:
        consumer = self._consumer
        assert consumer is not None  # noqa: S101 -- it assigned the partitions
        self._static_membership.joined(member_id_of(consumer), generation_of(consumer))
        # Before the next turn ends, as no take-over of what is another's now may go on, and only once, so that it may
        # close its clients.
        giving_up = asyncio.gather(*(self._give_up(place) for place in self._queues.keys() - places))
        for place in places:
            if place not in self._queues:
                self._queues[place] = self._make_queue(place)
                self._work[place] = asyncio.create_task(self._run_queue(place), name=f"the queue of {place}")
            elif place in self._ready:
                consumer.seek(place, self._queues[place].again())
            if self._draining:
                self._queues[place].pause()
            else:
                self._queues[place].go_on()
        self._presence.assigned = True  # before those that are gone are waited for: the topic may be missed meanwhile
        await giving_up
        log.info("%d partitions are ours", len(places))

    async def _wait_for_calls(self, seconds: float) -> None:
        """Begin nothing, and wait for calls that run."""
        for queue in self._queues.values():
            queue.pause()
        until = asyncio.get_running_loop().time() + seconds
        while running := sum(queue.running for queue in self._queues.values()):
            if asyncio.get_running_loop().time() > until:
                log.warning("%d calls still run after %g s", running, seconds)
                return
            await asyncio.sleep(LOOK_S)

    async def _leave_in_doubt(self) -> None:
        """Write for their readers that the calls which still run are in doubt."""
        for queue in self._queues.values():
            queue.leave()
        with suppress(TimeoutError):
            async with asyncio.timeout(EXIT_S):
                while any(queue.leaving for queue in self._queues.values()):  # noqa: ASYNC110 -- of many, for a moment
                    await asyncio.sleep(LOOK_S)

    async def _give_up(self, place: TopicPartition) -> None:
        self._ready.discard(place)
        queue, work = self._queues.pop(place), self._work.pop(place)
        await cancelled(work)
        await queue.close()

    def _make_queue(self, place: TopicPartition) -> CallQueue:
        kafka, seconds = self._kafka, self._config.worker.transaction_timeout_ms / 1000
        name = transactional_id(kafka, place.topic, place.partition)

        def make() -> AIOKafkaProducer:
            return make_producer(
                kafka,
                transactional_id=name,
                transaction_timeout_ms=self._config.worker.transaction_timeout_ms,
                max_request_size=2 * self._config.limits.output_bytes,
            )

        async def owned() -> None:
            await until_available(self._still_a_member, kafka.startup_timeout_s)

        transaction = Transaction(make, name, kafka.group_id, seconds, self._failure.tell, owned)
        return CallQueue(place, self._config, transaction, self._limits, self._servers, self._orders, self._count)

    async def _run_queue(self, place: TopicPartition) -> None:
        try:
            async with self._openings:
                await until_available(lambda: self._take_over(place), self._kafka.startup_timeout_s)
            await self._queues[place].work()
        except Exception as problem:  # noqa: BLE001 -- whatever it is ends the process, and is said there
            known = isinstance(problem, TokenmillError)
            self._failure.tell(problem if known else FatalError(f"the queue of {place} ended: {problem!r}"))

    async def _take_over(self, place: TopicPartition) -> None:
        """Fence the previous owner, learn what it knew, and read on from where it was."""
        await self._control.read.wait()
        queue, topics = self._queues[place], self._config.topics
        consumer = await self._still_a_member()
        await queue.transaction.open()
        await find_partitions(queue.transaction.client, [topics.tool_state, topics.tool_results], [place.partition])
        found = (await committed_offsets(consumer, [place])).get(place)
        beginning, end = await bounds_of(consumer, place)
        self._ends.believe({place: (end, found.offset if found else 0)})
        # All is read if the offset is not one that a runner committed.
        await self._learn(queue, number_of(found.metadata.encode(), 0) if found else 0)
        offset = max(found.offset if found else 0, beginning)
        queue.begin_at(offset, end)
        self._read_from(consumer, place, offset)

    def _read_from(self, consumer: AIOKafkaConsumer, place: TopicPartition, offset: int) -> None:
        """Read a partition from there. Raises `Unavailable` if it has moved: the client drops it before it says so."""
        if place not in consumer.assignment():
            raise Unavailable(f"Kafka: {place.topic}/{place.partition} is another member's now")
        consumer.seek(place, offset)
        self._ready.add(place)

    async def _still_a_member(self) -> AIOKafkaConsumer:
        """Return the consumer, once the group has answered that it is a member. Raises `Unavailable`."""
        consumer = self._consumer
        assert consumer is not None  # noqa: S101 -- it assigned the partitions
        await still_a_member(consumer)
        return consumer

    async def _learn(self, queue: CallQueue, needed: int) -> None:
        """Read what `tool-state` has about the partition, from an offset on."""
        place = TopicPartition(self._config.topics.tool_state, queue.place.partition)
        patience_s = self._kafka.startup_timeout_s
        async with running(lambda: make_reader(self._kafka), "read tool-state", patience_s) as reader:
            reader.assign([place])
            first, end = await bounds_of(reader, place)
            self._ends.believe({place: (end, needed)})
            if needed > end:
                log.warning("%s/%d ends at %d, and was to be read from %d: all of it is read", *place, end, needed)
                needed = first
            begin = max(first, needed)
            queue.read_from(begin)
            reader.seek(place, begin)
            reading = ToEnd(reader, {place: end}, "read tool-state")
            while not await reading.reached():
                for record in (await reader.getmany(place, timeout_ms=POLL_MS)).get(place, ()):
                    queue.read(record.key or b"", record.value, record.offset)
