"""A conversation read from Kafka: first what is in the log, then what comes, until the reader leaves.

1. Each reader has a consumer of its own, in no group, which sees what is committed: it disturbs nobody.
2. Events are read before tokens: their headers say when their messages began, and reading begins there, however far
   back was asked for. A message whose beginning the log no longer has is told by its events alone.
3. What was in the log has no time of arrival here, so nothing is said of how long its events took.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Iterator
from functools import partial

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from tokenmill.config import Config
from tokenmill.errors import Unavailable
from tokenmill.events import ToolProgress, ToolResult, known_event
from tokenmill.inspector.lines import AboutCall, Ended, Line, Piece, Position, about
from tokenmill.inspector.live import Watch
from tokenmill.inspector.steps import STEPS
from tokenmill.kafka.aiokafka_inside import fresh_metadata
from tokenmill.kafka.calls import CALL_S, deadline, running
from tokenmill.kafka.clients import make_reader
from tokenmill.kafka.lookup import assign_at, offsets_since, partition_of
from tokenmill.limits import MIB
from tokenmill.partition import PartitionSettings
from tokenmill.records import number_in
from tokenmill.tools.control import ASKED_S, read_control

POLL_MS = 200
"""How long one poll waits: the delay with which a reader that left is noticed, not a delay of records."""

BATCH = 500
"""Records of one poll: some 25 ms of the loop, in which nobody else is served."""

WAIT_MS = 100
"""How long the broker may hold back a fetch of nothing."""

SIGN_S = 2.0
"""After so much silence a reader is told that nothing has come."""

ROUNDS = 4
"""How often reading begins further back: messages of one conversation seldom overlap at all."""

LOOK_S = 10.0
"""Between two looks whether Kafka answers, and the topic has the partitions that it had: a poll says neither."""

SOURCE_CHARS = 64 * MIB
"""Of all answers that a reader is told of: they are kept here until their events are published, and on the page."""

PAST_BYTES = 64 * MIB
"""Of the events in the log, which are kept until the tokens before them are read. Each may have a megabyte, so their
number alone bounds nothing; eight readers at once (`live_routes.READERS`) hold half a gibibyte at most."""


class TooMuch(Exception):
    """More than is shown; the text says what to do."""


class LiveLog:
    """One reader of one conversation."""

    def __init__(self, config: Config, conversation: str, back_s: float) -> None:
        self._kafka = config.kafka
        self._topics = config.topics
        self._most = config.gateway.lookback_records
        self._asked_ms = int(config.tools.approve_s * 1000)
        self._settings = PartitionSettings.from_config(config)
        self._key = conversation.encode()
        self._since = max(0, int((time.time() - back_s) * 1000))
        self._steps = self._chars = 0

    async def lines(self) -> AsyncGenerator[list[Line]]:
        """What there is to tell, as it comes. Raises `Unavailable`."""
        reader = partial(make_reader, self._kafka, wait_ms=WAIT_MS)
        async with running(reader, "read", self._kafka.startup_timeout_s) as consumer:
            try:
                async for told in self._read(consumer):
                    yield told
                    self._count(told)
            except TooMuch as problem:
                yield [Ended(str(problem))]

    def _count(self, told: list[Line]) -> None:
        steps = [step for line in told if isinstance(line, Piece) for step in line.steps]
        self._steps += sum(max(1, len(step.made)) for step in steps)
        self._chars += sum(len(step.source) for step in steps)
        if self._steps > STEPS or self._chars > SOURCE_CHARS:
            raise TooMuch(f"more than {STEPS} events or {SOURCE_CHARS} characters came; begin later to see what comes")

    async def _read(self, consumer: AIOKafkaConsumer) -> AsyncGenerator[list[Line]]:
        tokens, events, others = await self._places(consumer)
        watch = Watch(self._settings, (tokens.topic, events.topic), tokens.partition)
        past, start = await self._past_events(consumer, events)
        positions = {events: start}
        begin = (await self._starts(consumer, [tokens], self._since))[tokens]
        async for records, position in self._to_end(consumer, tokens, begin):
            positions[tokens] = position
            told = await _tokens(watch, [(record, None) for record in records])
            yield [*told, Position(tokens.partition, position, 0, behind=True)]
        for first in range(0, len(past), BATCH):
            now = time.monotonic()
            yield [line for record in past[first : first + BATCH] for line in watch.event(record, None, now)]
            await asyncio.sleep(0)
        for place in others:
            least_ms = int(ASKED_S * 1000) if place.topic == self._topics.tool_control else 0
            back_ms = max(least_ms, self._asked_ms)
            positions |= await self._starts(consumer, [place], self._since - back_ms)
        assign_at(consumer, positions)
        async for told in self._follow(consumer, watch, tokens, events):
            yield told

    async def _follow(
        self, consumer: AIOKafkaConsumer, watch: Watch, tokens: TopicPartition, events: TopicPartition
    ) -> AsyncGenerator[list[Line]]:
        """What comes, tokens first; what was there before this began has no time."""
        known: dict[TopicPartition, int] = await deadline(consumer.end_offsets([tokens]), "look up the log's end")
        signed = -SIGN_S
        looked = time.monotonic()
        while True:
            if time.monotonic() > looked + LOOK_S:
                await self._look(consumer, tokens)
                looked = time.monotonic()
            polled = consumer.getmany(timeout_ms=POLL_MS, max_records=BATCH)
            found: dict[TopicPartition, list[ConsumerRecord]] = await deadline(polled, "read")
            now, told = time.monotonic(), list[Line]()
            came = self._own(found.pop(tokens, ()))
            told += await _tokens(watch, [(each, now if each.offset >= known[tokens] else None) for each in came])
            for record in self._own(found.pop(events, ())):
                told += watch.event(record, now, now)
            told += (said for records in found.values() for record in self._own(records) for said in _said(record))
            told += watch.settle(now)
            if told or now >= signed + SIGN_S:
                signed = now
                at = {place: await deadline(consumer.position(place), "read") for place in (tokens, events)}
                yield [*told, Position(tokens.partition, at[tokens], at[events], behind=False)]
            await asyncio.sleep(0)  # a poll that finds something does not yield

    async def _look(self, consumer: AIOKafkaConsumer, tokens: TopicPartition) -> None:
        """Raises `Unavailable` if Kafka does not answer, or the conversation goes on elsewhere."""
        place, *_ = await self._places(consumer)
        if place != tokens:
            raise Unavailable(f"the topic {tokens.topic} has more partitions now; reconnect to go on")
        ends = await deadline(consumer.end_offsets([tokens]), "look up the log's end")
        if ends[tokens] < await deadline(consumer.position(tokens), "read"):
            raise Unavailable(f"the topic {tokens.topic} was made anew; reconnect to read it")

    # Where to begin

    async def _places(self, consumer: AIOKafkaConsumer) -> tuple[TopicPartition, TopicPartition, list[TopicPartition]]:
        """The conversation's partitions: of tokens, of events, and of topics about tools as far as there are any."""
        topics = self._topics
        read = (topics.tokens, topics.events, topics.tool_control, topics.tool_results)
        found = await deadline(fresh_metadata(consumer, *read), "look up the topics")
        counts = {topic: len(found.partitions_for_topic(topic) or ()) for topic in read}
        number = partition_of(self._key, max(1, counts[topics.tokens]))
        for topic in (topics.tokens, topics.events):
            if counts[topic] <= number:
                raise Unavailable(f"Kafka: no topic {topic}, or not all of it: `tokenmill topics create` makes it")
        others = [
            TopicPartition(topic, partition_of(self._key, counts[topic]))
            for topic in (topics.tool_control, topics.tool_results)
            if counts[topic]
        ]
        return TopicPartition(topics.tokens, number), TopicPartition(topics.events, number), others

    async def _past_events(
        self, consumer: AIOKafkaConsumer, events: TopicPartition
    ) -> tuple[list[ConsumerRecord], int]:
        """The conversation's events in the log, and the offset behind them; begins where the first message did."""
        position = 0
        for _ in range(ROUNDS):
            start = (await self._starts(consumer, [events], self._since))[events]
            past, size = list[ConsumerRecord](), 0
            async for records, end in self._to_end(consumer, events, start):
                past += records
                size += sum(len(record.value or b"") for record in records)
                position = end
                if len(past) > STEPS or size > PAST_BYTES:
                    most = f"{STEPS} events or {PAST_BYTES // MIB} MiB"
                    raise TooMuch(f"there are more than {most} of them to read; look back less far")
            began = min((_began(record) for record in past), default=self._since)
            if began >= self._since:
                break
            self._since = began
        return past, position

    async def _starts(
        self, consumer: AIOKafkaConsumer, places: list[TopicPartition], since: int
    ) -> dict[TopicPartition, int]:
        """The first offsets that are not older, but no more than so many records from the end."""
        if not places:
            return {}
        consumer.assign(places)
        starts = await offsets_since(consumer, places, since)
        ends = await deadline(consumer.end_offsets(places), "look up the log's end")
        return {place: max(starts[place], ends[place] - self._most) for place in places}

    async def _to_end(
        self, consumer: AIOKafkaConsumer, place: TopicPartition, start: int
    ) -> AsyncGenerator[tuple[list[ConsumerRecord], int]]:
        """The conversation's records from an offset to what is the partition's end now, and the offset behind them."""
        consumer.assign([place])
        consumer.seek(place, start)
        end = (await deadline(consumer.end_offsets([place]), "look up the log's end"))[place]
        position, heard = start, time.monotonic()
        yield [], position
        while position < end:
            found = await deadline(consumer.getmany(timeout_ms=POLL_MS, max_records=BATCH), "read")
            position = await deadline(consumer.position(place), "read")
            heard = time.monotonic() if found else heard
            stable = consumer.last_stable_offset(place)
            open_ = not found and stable is not None and 0 <= stable <= position
            if open_ or time.monotonic() > heard + CALL_S:
                return  # what is left belongs to a transaction that is open
            yield list(self._own(found.get(place, ()))), position
            await asyncio.sleep(0)

    def _own(self, records: Iterable[ConsumerRecord]) -> Iterator[ConsumerRecord]:
        return (record for record in records if record.key == self._key)


async def _tokens(watch: Watch, records: list[tuple[ConsumerRecord, float | None]]) -> list[Line]:
    """What records tell, each with its time of arrival; beside the loop, since a long record makes many events."""
    if not records:
        return []
    return await asyncio.to_thread(lambda: [line for record, seen in records for line in watch.token(record, seen)])


def _began(record: ConsumerRecord) -> int:
    """When an event's message began, in milliseconds since the epoch."""
    return number_in(record.headers, "tm-opened", record.timestamp)


def _said(record: ConsumerRecord) -> Iterator[AboutCall]:
    control = read_control(record.value)
    if control is not None:
        yield about(control, record.timestamp)
        return
    event = known_event(record.value or b"")
    if isinstance(event, ToolProgress | ToolResult):
        yield about(event, record.timestamp)
