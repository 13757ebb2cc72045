"""Recovers answers whose caller may be lost: those whose requests are older than our ownership of the partition.

Rules of this file:

1. The log decides. An answer is alive as long as its caller writes records, at least three in each `caller.lease_s`. An
   answer that has ended is done; one that is alive is left to its writer.
2. Silence is measured by our own clock, and only while we listen: while the log is read to its end, and Kafka answers.
   So neither a Kafka that takes no records nor times of another clock count as silence.
3. An answer that was silent for a lease is taken over by a record in the next range of numbers. Later records of the
   previous writer are dropped (`writing`). If several callers try, the one whose record is first in the log has the
   answer. If the record is not in the log after another lease, Kafka did not take it, and it is written again.
4. So the answer will have nothing but what lies before that record. If that is nothing, the model is called again, or
   the answer is ended if it was stopped. If every choice has a finish reason, only the ends are written. Otherwise the
   answer is continued, if the upstream `continues`, or else ends as failed. The fate is counted and logged.
5. Every answer gets a fate in the end. Any client can write signs of life, but no caller writes an answer whose time is
   over: from then on only the first record of a range counts, and the answer is taken over to be ended. After the last
   range it has failed for good.
6. Listening needs no partition. After a rebalance a listener continues until each answer is heard of or taken over:
   otherwise, callers that come and go faster than a lease would keep a silent answer waiting for ever.
"""

import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition

from tokenmill.apis.record import RequestRecord
from tokenmill.caller.answer import END_S, TAKEOVER, Answer
from tokenmill.caller.answer_progress import AnswerProgress
from tokenmill.caller.writing import RANGES
from tokenmill.config import Kafka
from tokenmill.config.front import LONGEST_ANSWER_S
from tokenmill.errors import Unavailable
from tokenmill.gateway.problems import Refused
from tokenmill.kafka.calls import deadline, running
from tokenmill.kafka.client_tasks import must_read
from tokenmill.kafka.clients import from_leaders, make_reader
from tokenmill.kafka.lookup import offsets_since
from tokenmill.observe.caller_table import Fate
from tokenmill.records import Headers, PlacedRecord, header

log = logging.getLogger(__name__)

POLL_MS = 100
"""Milliseconds for which a poll waits for records, and so between two checks for silent answers."""

DEAF_MS = 1_500
"""Milliseconds after Kafka's last answer in which it counts as answering. It answers twice a second even without
news."""

EARLIER_MS = 5_000
"""Milliseconds by which reading begins before the request's own time: the clocks of fronts and callers differ."""


class ReceivedRequest(msgspec.Struct, frozen=True):
    """A request as a caller has read it, with the place and time of its record."""

    conversation: str
    request: RequestRecord
    offset: int
    time_ms: int
    """Time of its record, in milliseconds since the epoch."""
    headers: Headers = ()
    read_ms: float = msgspec.field(default_factory=lambda: time.time() * 1000)
    """Time when we read it, in milliseconds since the epoch."""

    @property
    def identity(self) -> tuple[bytes, str]:
        """The record's key and the message id, which together identify the request."""
        return self.conversation.encode(), self.request.message_id

    @property
    def until_ms(self) -> float:
        """When its answer has to be over, in milliseconds since the epoch.

        That is at most `LONGEST_ANSWER_S` after the record's time. A client can write a record with a time in the
        future; the time when we read it counts then.
        """
        return min(self.request.until, min(self.time_ms, self.read_ms) + LONGEST_ANSWER_S * 1000)

    @property
    def over_ms(self) -> float:
        """Time after which no caller writes records of its answer, in milliseconds since the epoch."""
        return self.until_ms + END_S * 1000


Decide: TypeAlias = Callable[[ReceivedRequest, Fate, Answer | None, str], None]
"""Takes a request with its fate, the answer to continue or to end (None: the log has its end), and its text so far."""

Begin: TypeAlias = Callable[[ReceivedRequest, int], Answer]
"""Makes an answer to a request, with the number of its range."""


class Taking(msgspec.Struct):
    """A takeover that was tried: its record may be in the log."""

    answer: Answer
    name: bytes
    range: int
    at: float
    """When the record was written, in monotonic seconds."""


class WatchedAnswer(msgspec.Struct):
    """The answer to a request that has no fate yet."""

    received: ReceivedRequest
    progress: AnswerProgress
    taking: Taking | None = None
    """The takeover that we have tried last, until it is decided."""


class Inheritance:
    """Watches the answers to inherited requests of one partition, and finds the fate of each."""

    def __init__(
        self,
        kafka: Kafka,
        tokens: str,
        lease_s: float,
        partition_of: Callable[[bytes], Awaitable[int]],
        begin: Begin,
        decide: Decide,
    ) -> None:
        """`tokens` is the topic of chunks; `partition_of` returns the partition of a key there. `begin` makes answers,
        `decide` takes the fates.
        """
        self._kafka = kafka
        self._tokens = tokens
        self._lease_s = lease_s
        self._partition_of = partition_of
        self._begin = begin
        self._decide = decide
        self._waiting: dict[tuple[bytes, str], WatchedAnswer] = {}
        self._listens_since = 0.0
        """Since when we listen without a break, in monotonic seconds."""
        self._listens = False
        """Whether, at the last look, the log was read to its end and Kafka answered."""
        self._parted = False
        """Whether the partition is no longer ours."""

    def part(self) -> None:
        """Note that the partition is no longer ours: an answer that is heard of is left to the next owner."""
        self._parted = True

    async def settle(self, inherited: Sequence[ReceivedRequest]) -> None:
        """Wait until each request has its fate.

        Raises `Unavailable`; the requests without a fate may then be settled again.
        """
        if not inherited:
            return  # all were settled before reading failed
        self._listens_since = time.monotonic()
        self._waiting = {each.identity: WatchedAnswer(each, AnswerProgress(self._listens_since)) for each in inherited}
        kafka = from_leaders(self._kafka)  # a follower's end may be an old one, and so look like silence
        since_ms = int(min(min(each.time_ms, each.read_ms) for each in inherited)) - EARLIER_MS
        async with running(lambda: make_reader(kafka), "read tokens", kafka.startup_timeout_s) as consumer:
            await self._place(consumer, since_ms)
            while self._waiting:
                await self._look(consumer)

    async def _place(self, consumer: AIOKafkaConsumer, since_ms: int) -> None:
        try:
            numbers = {await self._partition_of(key) for key in {key for key, _ in self._waiting}}
        except Refused as problem:
            raise Unavailable(f"Kafka: the partitions of {self._tokens} are unknown: {problem.detail}") from problem
        places = [TopicPartition(self._tokens, number) for number in sorted(numbers)]
        consumer.assign(places)
        for place, offset in (await offsets_since(consumer, places, since_ms)).items():
            consumer.seek(place, offset)

    async def _look(self, consumer: AIOKafkaConsumer) -> None:
        """Read new records, then take over answers that have been silent for a lease."""
        must_read(consumer, Unavailable)
        batches = await deadline(consumer.getmany(timeout_ms=POLL_MS), "read tokens")
        for records in batches.values():
            for record in records:
                self._take(record)
        at_ends = [await self._is_at_end(consumer, place) for place in consumer.assignment()]
        now = time.monotonic()
        self._listens = all(at_ends)
        if not self._listens:
            self._listens_since = now
        for each in list(self._waiting.values()):
            tried_at = each.taking.at if each.taking is not None else 0.0
            in_time = time.time() * 1000 < each.received.over_ms
            heard_at = each.progress.at if in_time else each.progress.taken_at
            if now - max(heard_at, self._listens_since, tried_at) > self._lease_s:
                await self._take_over(each)

    @staticmethod
    async def _is_at_end(consumer: AIOKafkaConsumer, place: TopicPartition) -> bool:
        """Whether Kafka has just reported a partition's end, and the partition is read up to it."""
        end, answered_ms = consumer.last_stable_offset(place), consumer.last_poll_timestamp(place)
        if end is None or answered_ms is None or time.time() * 1000 - answered_ms > DEAF_MS:
            return False
        return bool(await deadline(consumer.position(place), "read tokens") >= end)

    def _take(self, record: PlacedRecord) -> None:
        """Take a record of `tokens`, which may be of an answer that is watched."""
        for watched in [each for (key, _), each in self._waiting.items() if key == record.key]:
            message_id, progress = watched.received.request.message_id, watched.progress
            before, took = progress.at, progress.take(record, message_id, time.monotonic())
            if progress.ended:
                self._settle(watched, "over")
            elif took is not None:
                self._taken(watched, took, header(record.headers, TAKEOVER))
            # An answer that we are about to take over stays: no other caller has that range.
            if self._parted and self._listens and progress.at > before and watched.taking is None:
                self._waiting.pop(watched.received.identity, None)

    async def _take_over(self, watched: WatchedAnswer) -> None:
        """Write the record that makes the answer ours, unless another one is the first of its range."""
        message_id, before = watched.received.request.message_id, watched.taking
        # Never the first range: a silent caller may still begin there, and two writers of one range would be mixed.
        number, name = max(watched.progress.range, 0) + 1, secrets.token_hex(8).encode()
        if number >= RANGES:
            log.warning("an answer was taken over too often, and is left without an end: %s", message_id)
            self._settle(watched, "failed")
            return
        if before is not None and before.range == number:
            name = before.name  # the earlier record may still arrive, and then counts as ours
        answer = self._begin(watched.received, number)
        taking = watched.taking = Taking(answer, name, number, time.monotonic())
        log.warning("taking over an answer that has lost its caller: %s", message_id)
        await answer.take_over(name)
        taking.at = time.monotonic()  # it may have had to wait for Kafka

    def _taken(self, watched: WatchedAnswer, number: int, name: bytes | None) -> None:
        """Decide an answer's fate if the range that begins is ours, and not that of another caller that was faster."""
        ours, watched.taking, progress = watched.taking, None, watched.progress
        if ours is None:
            return
        if (ours.name, ours.range) != (name, number):
            return  # the answer stays watched: if that caller falls silent, too, it is taken over again
        answer = ours.answer
        if progress.all_there(answer.choices):
            self._settle(watched, "over", answer)
        elif progress.stopped:
            self._settle(watched, "stopped", answer)
        elif answer.refused is not None:
            self._settle(watched, "failed", answer)
        elif not progress.content:
            self._settle(watched, "called-again", answer)
        elif progress.text and answer.continues:
            self._settle(watched, "continued", answer, "".join(progress.text))
        else:
            self._settle(watched, "failed", answer)

    def _settle(self, watched: WatchedAnswer, fate: Fate, answer: Answer | None = None, text: str = "") -> None:
        self._waiting.pop(watched.received.identity, None)
        self._decide(watched.received, fate, answer, text)
