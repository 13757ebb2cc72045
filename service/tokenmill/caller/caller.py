"""A member of the group of callers: reads its partitions of `requests`, runs answers, and commits offsets.

1. A partition's owner begins the requests that are written after it placed the partition (`placing`). Earlier ones are
   inherited (`inheritance`): their answers may be running at another caller, or at none.
2. An answer that has begun here continues here, whichever caller owns its partition: a rebalance cuts no answer off.
   The new owner sees in the log that the answer is alive, and when it has ended. So does this caller if it gets the
   partition back, as another one may have taken the answer over meanwhile.
3. The committed offset lies below every request whose answer has no end yet.
4. A caller that was suspended, or is a static member, asks the group whether it still is a member before it begins the
   requests that it has read (`membership`).
5. Of requests with the same `key` and `attempt` the first one counts, as long as fronts know it (`repeated_requests`).
   They are in one partition.
6. An answer that is over here, but perhaps not in the log, is treated by its partition's owner as an inherited one.
7. Workers ignore a stop on `tokens` before the answer's message is open. But the stop is on `requests`, too: the caller
   that runs the answer has it ended once it is open. An inherited answer that was stopped is ended instead of begun.
8. A caller that is told to end leaves the group immediately: later requests go to other callers, and by rule 2 the
   answers that run here end here.
"""

import asyncio
import logging
import math
from collections.abc import Coroutine, Iterable
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, ConsumerRecord, TopicPartition

from tokenmill.apis.record import RequestRecord, StoppedRecord, conversation_in_key, read_request
from tokenmill.caller.answer import Answer, Resources
from tokenmill.caller.finishes import Finishes
from tokenmill.caller.inheritance import Decide, Inheritance, ReceivedRequest
from tokenmill.caller.membership import Membership
from tokenmill.caller.offsets import Offsets
from tokenmill.caller.placing import Placing
from tokenmill.caller.recovery_queue import RecoveryQueue
from tokenmill.caller.repeated_requests import RepeatedRequests
from tokenmill.caller.running import Over, Running
from tokenmill.caller.tracing import traced
from tokenmill.config import Config
from tokenmill.kafka.aiokafka_inside import generation_of, member_id_of
from tokenmill.kafka.calls import started, stopped, until_available
from tokenmill.kafka.client_tasks import must_read
from tokenmill.kafka.clients import make_consumer
from tokenmill.kafka.static_membership import StaticMembership
from tokenmill.kafka.topic_presence import TopicPresence
from tokenmill.kafka.topics import find_topic
from tokenmill.observe import Numbers
from tokenmill.observe.caller_table import Fate, Outcome
from tokenmill.observe.telemetry import NO_TELEMETRY, Telemetry
from tokenmill.partition.trace_context import trace_context
from tokenmill.process import Failure, Part, ToldToStop, before, run_until

log = logging.getLogger(__name__)

POLL_MS = 100
"""Milliseconds for which a poll waits for records."""

COMMIT_S = 1.0
"""Seconds between two commits. The next owner inherits the requests after the last one; of most it only sees the
end."""

OVERLOADED = "the caller runs as many answers as it may; try again later"
LOST = "the process that called the model was lost, and the rest of its answer can't be had; send the request again"


class Caller(ConsumerRebalanceListener):  # type: ignore[misc] # untyped base class
    """Reads `requests` as a member of the group of callers, and runs the answers."""

    def __init__(
        self,
        config: Config,
        resources: Resources,
        finishes: Finishes,
        numbers: Numbers,
        telemetry: Telemetry = NO_TELEMETRY,
    ) -> None:
        self._config = config
        self._kafka = msgspec.structs.replace(config.kafka, group_id=config.caller.group_id)
        self._resources = resources
        self._running = Running(resources, finishes, config.caller.lease_s, numbers)
        self._numbers = numbers
        self._telemetry = telemetry
        self._offsets: dict[TopicPartition, Offsets] = {}
        self._failure, patience_s = Failure(), self._kafka.startup_timeout_s
        self._inherited = RecoveryQueue(self._inheritance, self._apply_fate, patience_s, self._failure.tell)
        """Requests that were in our partitions before these were placed."""
        self._left = RecoveryQueue(self._inheritance, self._apply_fate, math.inf, self._failure.tell)
        """Requests of our own answers that are `left`. The cause is a Kafka that was away, so this caller goes on."""
        self._repeated = RepeatedRequests(config.front)
        self._consumer: AIOKafkaConsumer | None = None
        static = bool(config.kafka.group_instance_id)
        self._membership = Membership(config.kafka.session_timeout_ms / 1000, static=static)
        self._static_membership = StaticMembership(config.kafka)
        times = config.front.answer_s, config.kafka.session_timeout_ms / 1000
        self._placing = Placing(*times, self._offsets.__setitem__, self._failure.tell)
        self._presence = TopicPresence(config.topics.requests)
        self._draining = False
        numbers.read_value("tokenmill_caller_partitions", lambda: len(self._offsets))
        numbers.read_value("tokenmill_caller_inherited", lambda: self._inherited.count + self._left.count)

    def readiness(self) -> tuple[bool, str]:
        """Whether it takes requests, and the reason if not, or `ready`. It is ready without a partition, too."""
        if self._draining:
            return False, "draining"
        return not self._presence.lacks, self._presence.lacks or "ready"

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop`, then wait `caller.drain_s` for running answers.

        Raises a `TokenmillError` if the caller can't continue.
        """
        try:
            consumer = await before(stop, until_available(self._join, self._kafka.startup_timeout_s))
        except ToldToStop:
            return
        member_parts: dict[str, Part] = {
            "the reader of requests": partial(self._poll, consumer),
            "the commits": partial(self._commit_regularly, consumer),
        }
        parts = member_parts | {"the signs of life": self._running.beat, "the caller": self._failure.wait}
        try:
            async with run_until(stop, parts) as tasks:
                self._draining = True
                for name in member_parts:
                    tasks[name].cancel()
                await self._close_queues()
                await asyncio.gather(self._leave(consumer), self._running.finished(self._config.caller.drain_s))
        finally:
            await self._close_queues()
            await self._running.close()
            await self._leave(consumer)

    async def _close_queues(self) -> None:
        """Leave inherited requests to the next owners of their partitions."""
        for queue in (self._inherited, self._left):
            await queue.close()

    async def _leave(self, consumer: AIOKafkaConsumer) -> None:
        await self.on_partitions_revoked(())
        await stopped(consumer)

    async def _join(self) -> AIOKafkaConsumer:
        """Return a consumer that has joined the group. Raises `Unavailable` and `ConfigError`."""
        await find_topic(self._kafka, self._config.topics.requests)
        return await started(self._make_consumer, "join the group", self._kafka.startup_timeout_s)

    def _make_consumer(self) -> AIOKafkaConsumer:
        self._consumer = make_consumer(self._kafka, "earliest")  # each partition is placed when it is assigned
        self._consumer.subscribe([self._config.topics.requests], listener=self)
        return self._consumer

    # Reading requests

    async def _poll(self, consumer: AIOKafkaConsumer) -> None:
        while True:
            must_read(consumer)
            await self._presence.look(consumer)
            batches = await consumer.getmany(timeout_ms=POLL_MS)
            ours = not batches or self._membership.known or await self._commit(consumer, everything=True)
            for place, records in batches.items():
                if place not in self._offsets:
                    continue
                if not ours and place in consumer.assignment():
                    consumer.seek(place, self._offsets[place].read)
                for record in records if ours else ():
                    self._take(place, record)
            self._settle_inherited()

    def _take(self, place: TopicPartition, record: ConsumerRecord) -> None:
        offsets, request = self._offsets[place], read_request(record.value)
        conversation = conversation_in_key(record.key)
        if isinstance(request, StoppedRecord) and conversation:
            self._running.cancel(conversation, request.message_id)
        if (
            not isinstance(request, RequestRecord)
            or not conversation
            or self._repeated.repeats(request, record.timestamp)
        ):
            offsets.take(record.offset, finished=True)
            return
        headers = trace_context(record.headers)
        received = ReceivedRequest(conversation, request, record.offset, record.timestamp, headers)
        is_inherited = record.offset < offsets.inherited_until
        offsets.take(record.offset, finished=not is_inherited and self._running.knows(request.message_id))
        if is_inherited:
            self._inherited.add(place, received)
        elif not self._running.knows(request.message_id):  # a record that was written twice is one request
            answer = self._answer(received, 0)
            self._running.begin(answer, self._work(answer), self._end_recorder(place, received))

    def _answer(self, received: ReceivedRequest, attempt: int) -> Answer:
        return Answer(
            self._resources,
            received.conversation,
            received.request,
            until_ms=received.until_ms,
            attempt=attempt,
            tracing=list(received.headers),
        )

    def _work(self, answer: Answer) -> Coroutine[Any, Any, Outcome]:
        """Return the work of an answer that begins, which is to refuse it if too many run already."""
        full = self._running.count >= self._config.caller.answers
        return answer.give_up(OVERLOADED, HTTPStatus.TOO_MANY_REQUESTS) if full else traced(self._telemetry, answer)

    def _end_recorder(self, place: TopicPartition, received: ReceivedRequest) -> Over:
        """Return the function that records an answer's end in the current offsets of the partition, and not in those of
        a later assignment.
        """
        return partial(self._record_end, place, received, self._offsets.get(place))

    def _record_end(
        self, place: TopicPartition, received: ReceivedRequest, offsets: Offsets | None, *, known: bool
    ) -> None:
        """Record an answer's end. If it is not `known` to be in the log, the partition's owner looks for it there."""
        if offsets is None:
            return  # the partition was another caller's when the answer was taken over here
        if known:
            offsets.done(received.offset)
        elif self._offsets.get(place) is offsets:
            self._left.add(place, received)

    # Recovering answers that others may have begun

    def _settle_inherited(self) -> None:
        """Start recovering a partition's inherited answers, once all their requests were read, and `left` answers."""
        for place in self._inherited.places:
            offsets = self._offsets[place]
            if offsets.read >= offsets.inherited_until:
                self._inherited.settle(place)
        for place in self._left.places:
            self._left.settle(place)

    def _inheritance(self, decide: Decide) -> Inheritance:
        tokens, lease_s = self._config.topics.tokens, self._config.caller.lease_s
        return Inheritance(self._kafka, tokens, lease_s, self._partition_of, self._answer, decide)

    async def _partition_of(self, key: bytes) -> int:
        return await self._resources.producer.partition(self._config.topics.tokens, key)

    def _apply_fate(
        self, place: TopicPartition, received: ReceivedRequest, fate: Fate, answer: Answer | None, text: str
    ) -> None:
        """Continue, repeat or end an answer that was taken over; without `answer`, record that it is over."""
        self._numbers.add("tokenmill_caller_inherited_total", fate)
        if answer is None:
            self._end_recorder(place, received)(known=True)
            return
        log.warning("took an answer over; its fate is %s: %s", fate, received.request.message_id)
        if fate == "over":
            work = answer.end()
        elif fate == "stopped":
            work = answer.end_stopped()
        elif fate == "failed":
            work = answer.give_up(LOST, HTTPStatus.BAD_GATEWAY)
        else:
            answer.continue_text(text)
            work = self._work(answer)
        self._running.begin(answer, work, self._end_recorder(place, received))

    # Changes of the assignment

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:  # noqa: ARG002 -- always all
        """Commit the offsets of all partitions a last time: afterwards they may be another caller's."""
        await self._placing.close()
        try:
            if self._consumer is not None and self._offsets:
                await self._commit(self._consumer)
        except Exception as problem:  # noqa: BLE001 -- the client would swallow it
            self._failure.tell(problem)
        self._membership.rebalanced()
        for place in list(self._offsets):
            self._let_go(place)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Read each partition from its committed offset. Requests before its current end are inherited."""
        places = sorted(assigned)
        try:
            assert self._consumer is not None  # noqa: S101 -- it assigned the partitions
            self._static_membership.joined(member_id_of(self._consumer), generation_of(self._consumer))
            await self._placing.begin(self._consumer, places)
        except Exception as problem:  # noqa: BLE001 -- the client would swallow it
            self._failure.tell(problem)
        self._presence.assigned = True
        log.info("%d partitions are ours", len(places))

    def _let_go(self, place: TopicPartition) -> None:
        del self._offsets[place]
        for queue in (self._inherited, self._left):
            queue.let_go(place)

    async def _commit_regularly(self, consumer: AIOKafkaConsumer) -> None:
        while True:
            await asyncio.sleep(COMMIT_S)
            await self._commit(consumer, everything=self._membership.due)

    async def _commit(self, consumer: AIOKafkaConsumer, *, everything: bool = False) -> bool:
        """Commit offsets, unchanged ones only with `everything`. Return whether the group took them."""
        due = {place: each for place, each in self._offsets.items() if everything or each.due != each.committed}
        offsets = {place: each.due for place, each in due.items()}
        if not due or not await self._membership.commit(consumer, offsets):
            return False
        for place, each in due.items():  # these objects: the assignment may have changed meanwhile
            each.committed = offsets[place]
        return True
