"""What becomes of answers whose caller may be lost: those that were asked for before a partition came to be ours.

Rules of this file:

1. The log decides. An answer is alive as long as a caller writes it, which is at least three times in `caller.lease_s`.
   One that has ended is done; one that is alive is left to its writer.
2. Silence counts while we listen, by our own clock: with the log read to its end, and Kafka answering. It does not
   count as silence if records could not be written for a while, or have times of another clock.
3. An answer that was silent for this long is taken over by a record in the next range of numbers. What the previous
   writer writes after it is dropped (see `writing`). If several callers try, the first record in the log has it. A
   record that does not arrive for this long was not taken by Kafka: another one is written.
4. So what lies before that record is all that the answer will have. If that is nothing, the model is called again, or
   the answer is ended if it was stopped. If every choice has said why it ends, only the ends are written. Otherwise the
   answer is continued, where the upstream `continues`, or ends as failed. The fate is counted and logged. Anyone may
   write signs of life. Once the time of an answer is over no caller writes it, so only the first record of a range
   counts, and the answer is taken over to be ended. After the last range it has failed for good. So each answer gets
   its fate in the end.
5. Listening needs no partition. After a rebalance a listener continues until each answer is heard of or taken over:
   else callers that come and go faster than a lease would keep a silent answer waiting for ever.
"""

import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
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
from tokenmill.kafka.calls import deadline, started, stopped
from tokenmill.kafka.client_tasks import must_read
from tokenmill.kafka.clients import from_leaders, make_reader
from tokenmill.kafka.lookup import offsets_since
from tokenmill.observe.caller_table import Fate
from tokenmill.records import Headers, PlacedRecord, header

log = logging.getLogger(__name__)

POLL_MS = 100
"""Milliseconds between two looks for answers that have been silent for too long."""

DEAF_MS = 1_500
"""Milliseconds without an answer from Kafka: it answers twice a second even if nothing is new."""

EARLIER_MS = 5_000
"""Milliseconds before the request's own time that are read: the clocks of fronts and callers differ."""


class Inherited(msgspec.Struct, frozen=True):
    """A request whose answer is at an unknown stage."""

    conversation: str
    request: RequestRecord
    offset: int
    time_ms: int
    """Time of its record."""
    headers: Headers = ()
    read_ms: float = msgspec.field(default_factory=lambda: time.time() * 1000)
    """Time when we read it."""

    @property
    def who(self) -> tuple[bytes, str]:
        """The key and the message, which no other request has."""
        return self.conversation.encode(), self.request.message_id

    @property
    def until_ms(self) -> float:
        """When its answer has to be over, in milliseconds since the epoch. A client may give its record any time; when
        we read it is never earlier than when it was written. Whoever reads one from the future gives it a day.
        """
        return min(self.request.until, min(self.time_ms, self.read_ms) + LONGEST_ANSWER_S * 1000)

    @property
    def over_ms(self) -> float:
        """Time after which no caller writes anything of it."""
        return self.until_ms + END_S * 1000


Decide: TypeAlias = Callable[[Inherited, Fate, Answer | None, str], None]
"""Gets each with what becomes of it, the answer to go on with or to end, and the text that there is."""

Begin: TypeAlias = Callable[[Inherited, int], Answer]
"""Makes an answer with the number of its range."""


class Taking(msgspec.Struct):
    """A record that takes an answer over, which may be in the log."""

    answer: Answer
    name: bytes
    range: int
    at: float
    """When it was written, in monotonic seconds."""


class Inheritance:
    """Looks after the inherited requests of one partition, until each has its fate."""

    def __init__(
        self,
        kafka: Kafka,
        tokens: str,
        lease_s: float,
        partition_of: Callable[[bytes], Awaitable[int]],
        begin: Begin,
        decide: Decide,
    ) -> None:
        """`tokens`: the topic of chunks; `partition_of` says where a conversation is there."""
        self._kafka = kafka
        self._tokens = tokens
        self._lease_s = lease_s
        self._partition_of = partition_of
        self._begin = begin
        self._decide = decide
        self._waiting: dict[tuple[bytes, str], tuple[Inherited, AnswerProgress]] = {}
        self._taking: dict[tuple[bytes, str], Taking] = {}
        """Those for which we have written that record."""
        self._listens_since = 0.0
        """In monotonic seconds."""
        self._listens = False
        """Behind the last look, everything is read, and Kafka answers."""
        self._parted = False
        """The partition was let go."""
        self._numbers: dict[bytes, int] = {}
        """The partition of each conversation."""

    def part(self) -> None:
        """The partition was let go: one that is heard of is left to its next owner, and has no fate here."""
        self._parted = True

    async def settle(self, inherited: Sequence[Inherited]) -> None:
        """Wait until each has its fate. Raises `Unavailable`; what has none by then may be settled again."""
        if not inherited:
            return  # all of it was settled before reading failed
        self._listens_since = time.monotonic()
        self._waiting = {each.who: (each, AnswerProgress(self._listens_since)) for each in inherited}
        kafka = from_leaders(self._kafka)  # an old end would count as silence
        consumer = await started(lambda: make_reader(kafka), "read tokens", kafka.startup_timeout_s)
        try:
            await self._place(consumer, int(min(min(each.time_ms, each.read_ms) for each in inherited)) - EARLIER_MS)
            while self._waiting:
                await self._look(consumer)
        finally:
            await stopped(consumer)

    async def _place(self, consumer: AIOKafkaConsumer, since_ms: int) -> None:
        try:
            self._numbers = {key: await self._partition_of(key) for key, _ in self._waiting}
        except Refused as problem:
            raise Unavailable(f"Kafka: where conversations are: {problem.detail}") from problem
        places = [TopicPartition(self._tokens, number) for number in sorted(set(self._numbers.values()))]
        consumer.assign(places)
        for place, offset in (await offsets_since(consumer, places, since_ms)).items():
            consumer.seek(place, offset)

    async def _look(self, consumer: AIOKafkaConsumer) -> None:
        """Read what was written, then look for silent answers."""
        must_read(consumer, Unavailable)
        batches = await deadline(consumer.getmany(timeout_ms=POLL_MS), "read tokens")
        for records in batches.values():
            for record in records:
                self._take(record)
        hears = [await self._hears(consumer, place) for place in consumer.assignment()]
        now = time.monotonic()
        self._listens = all(hears)
        if not self._listens:
            self._listens_since = now
        for who, (inherited, progress) in list(self._waiting.items()):
            tried_at = self._taking[who].at if who in self._taking else 0.0
            heard_at = progress.at if time.time() * 1000 < inherited.over_ms else progress.taken_at
            if now - max(heard_at, self._listens_since, tried_at) > self._lease_s:
                await self._take_over(inherited, progress)

    @staticmethod
    async def _hears(consumer: AIOKafkaConsumer, place: TopicPartition) -> bool:
        """Whether Kafka has just said where a partition ends, and all of it is read."""
        end, told_ms = consumer.last_stable_offset(place), consumer.last_poll_timestamp(place)
        if end is None or told_ms is None or time.time() * 1000 - told_ms > DEAF_MS:
            return False
        return bool(await deadline(consumer.position(place), "read tokens") >= end)

    def _take(self, record: PlacedRecord) -> None:
        """Take a record of `tokens`, which may be a sign of an answer that is waited for."""
        for message_id in _messages(record.key, self._waiting):
            inherited, progress = self._waiting[record.key or b"", message_id]
            before, took = progress.at, progress.take(record, message_id, time.monotonic())
            if progress.ended:
                self._settle(inherited, "over", None, "")
            elif took is not None:
                self._taken(inherited, progress, took, header(record.headers, TAKEOVER))
            # One that we are about to take over stays: nobody else knows of that range.
            if self._parted and self._listens and progress.at > before and inherited.who not in self._taking:
                self._waiting.pop(inherited.who, None)

    async def _take_over(self, inherited: Inherited, progress: AnswerProgress) -> None:
        """Write the record that makes the answer ours, if it is the first one of its range."""
        # Never the first range: who is silent may still begin, and two writers of one range would be mixed.
        number, name = max(progress.range, 0) + 1, secrets.token_hex(8).encode()
        if number >= RANGES:
            log.warning("an answer can't be taken over any more: %s", inherited.request.message_id)
            self._settle(inherited, "failed", None, "")
            return
        before = self._taking.get(inherited.who)
        if before is not None and before.range == number:
            name = before.name  # that record may come after all, and says the same
        answer = self._begin(inherited, number)
        taking = self._taking[inherited.who] = Taking(answer, name, number, time.monotonic())
        log.warning("an answer has no caller any more and is taken over: %s", inherited.request.message_id)
        await answer.take_over(name)
        taking.at = time.monotonic()  # it may have had to wait for Kafka

    def _taken(self, inherited: Inherited, progress: AnswerProgress, number: int, name: bytes | None) -> None:
        """Note that a range begins: ours, or that of another caller that was faster."""
        ours = self._taking.pop(inherited.who, None)
        if ours is None:
            return
        if (ours.name, ours.range) != (name, number):
            return  # it is looked after on; if that one falls silent, too, it is taken over again
        answer = ours.answer
        if progress.all_there(answer.choices):
            self._settle(inherited, "over", answer, "")
        elif progress.stopped:
            self._settle(inherited, "stopped", answer, "")
        elif answer.refused is not None:
            self._settle(inherited, "failed", answer, "")
        elif not progress.content:
            self._settle(inherited, "called-again", answer, "")
        elif progress.text and answer.continues:
            self._settle(inherited, "continued", answer, "".join(progress.text))
        else:
            self._settle(inherited, "failed", answer, "")

    def _settle(self, inherited: Inherited, fate: Fate, answer: Answer | None, text: str) -> None:
        self._waiting.pop(inherited.who, None)
        self._taking.pop(inherited.who, None)
        self._decide(inherited, fate, answer, text)


def _messages(key: bytes | None, waiting: Mapping[tuple[bytes, str], object]) -> list[str]:
    """Return the messages of a conversation that are waited for."""
    return [message for other, message in waiting if other == key]
