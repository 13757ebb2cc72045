"""A conversation read from a real Kafka."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaProducer

from tests.support.topics import grow_topics, make_topics
from tokenmill.config import Config, Gateway, Kafka, Topics
from tokenmill.errors import Unavailable
from tokenmill.events import ToolResult
from tokenmill.inspector import live_log
from tokenmill.inspector.lines import AboutCall, Ended, Line, Opened, Piece, Position, Published
from tokenmill.inspector.live_log import LiveLog
from tokenmill.partition import Partition, PartitionSettings
from tokenmill.records import InputRecord, Output
from tokenmill.tools.control import Approval

pytestmark = pytest.mark.integration

PATIENCE_S = 60


class Log:
    """Topics of one test, of one partition each, and a producer."""

    def __init__(self, config: Config, producer: AIOKafkaProducer) -> None:
        self.config = config
        self._producer = producer
        settings = PartitionSettings.from_config(config)
        self._worker = Partition(settings, config.topics.tokens, 0)

    async def token(self, age_s: float = 0.0, key: bytes = b"c", **chunk: Any) -> list[Output]:
        """Put a record of tokens there; what a worker makes of it."""
        value, stamp = msgspec.json.encode({"message_id": "m", **chunk}), int((time.time() - age_s) * 1000)
        sent = await self._producer.send_and_wait(self.config.topics.tokens, value, key, timestamp_ms=stamp)
        out = list[Output]()
        self._worker.process([InputRecord(sent.topic, 0, sent.offset, stamp, key, value)], out)
        return [output for output in out if output.topic == self.config.topics.events]

    async def publish(self, *outputs: Output) -> None:
        """Put events there."""
        for out in outputs:
            await self._producer.send_and_wait(
                out.topic, out.value, out.key, headers=out.headers, timestamp_ms=out.timestamp
            )

    async def say(self, topic: str, record: msgspec.Struct, age_s: float = 0.0) -> None:
        """Put a record about a call there."""
        stamp = int((time.time() - age_s) * 1000)
        await self._producer.send_and_wait(topic, msgspec.json.encode(record), b"c", timestamp_ms=stamp)

    @asynccontextmanager
    async def read(self, back_s: float = 600, **gateway: Any) -> AsyncIterator["Told"]:
        """A reader of the conversation."""
        config = msgspec.structs.replace(self.config, gateway=Gateway(**gateway))
        async with aclosing(LiveLog(config, "c", back_s).lines()) as batches:
            yield Told(batches)


class Told:
    """What a reader was told."""

    def __init__(self, batches: AsyncIterator[list[Line]]) -> None:
        self._batches = batches
        self.lines = list[Line]()

    async def until(self, kind: type[Line], count: int = 1) -> list[Any]:
        """Wait until there are so many lines of a kind."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.of(kind)) < count:
                self.lines += await anext(self._batches)
        return self.of(kind)

    async def caught_up(self) -> None:
        """Wait until all was read that is in the log."""
        async with asyncio.timeout(PATIENCE_S):
            while not any(not each.behind for each in self.of(Position)):
                self.lines += await anext(self._batches)

    def of(self, kind: type[Line]) -> list[Any]:
        """The lines of a kind."""
        return [line for line in self.lines if isinstance(line, kind)]


@pytest.fixture
async def log(kafka: str, unique: str) -> AsyncIterator[Log]:
    names = {key: f"{key}-{unique}" for key in ("tokens", "events", "tool_control", "tool_results")}
    await make_topics(kafka, *names.values(), partitions=1)
    producer = AIOKafkaProducer(bootstrap_servers=kafka)
    await producer.start()
    try:
        yield Log(Config(kafka=Kafka(bootstrap_servers=kafka), topics=Topics(**names)), producer)
    finally:
        await producer.stop()


async def test_what_is_in_the_log_comes_first_and_then_what_comes(log: Log) -> None:
    """Only of the conversation; what was there has no time of arrival, so nothing is said of how long it took."""
    await log.token(key=b"other", delta="no")
    await log.publish(*await log.token(delta="one "))
    async with log.read() as told:
        await told.caught_up()
        assert [line.message for line in told.of(Opened)] == ["m"]
        assert [line.seen for line in told.of(Piece)] == [None]
        assert len(told.of(Published)) == 3
        await log.publish(*await log.token(delta="two "))
        _, new = await told.until(Piece, 2)
        *_, last = await told.until(Published, 4)
        assert 0 <= last.seen - new.seen < PATIENCE_S
        assert [step.source for piece in told.of(Piece) for step in piece.steps] == ["one ", "two "]


async def test_reading_begins_where_the_first_message_did(log: Log) -> None:
    """However far back that is: from its middle nobody could tell what an answer means."""
    await log.publish(*await log.token(age_s=1_000, delta="long ago "))
    await log.publish(*await log.token(delta="now "))
    async with log.read(back_s=5) as told:
        await told.caught_up()
        assert [step.source for piece in told.of(Piece) for step in piece.steps] == ["long ago ", "now "]


async def test_no_more_is_read_than_may_be(log: Log) -> None:
    """Events whose tokens lie before it are told by themselves."""
    await log.publish(*await log.token(open={"format": "plain"}, delta="a "))
    await log.publish(*await log.token(delta="b "))
    async with log.read(lookback_records=1) as told:
        pieces = await told.until(Piece, 2)
        assert {step.kind for piece in pieces for step in piece.steps} >= {"alone"}


async def test_what_is_said_of_calls_is_told(log: Log) -> None:
    """By people and by tools."""
    topics = log.config.topics
    async with log.read() as told:
        await log.say(topics.tool_control, Approval(approval="x", granted=True, by="me"))
        await log.say(topics.tool_results, ToolResult("call", "f", result=1, conversation_id="c", message_id="m"))
        said = await told.until(AboutCall, 2)
        assert {type(line.record) for line in said} == {Approval, ToolResult}


async def test_a_question_is_told_for_as_long_as_its_runner_may_wait(log: Log) -> None:
    """That may be longer than `tools.approve_s` of the inspector's own configuration."""
    await log.say(log.config.topics.tool_control, Approval(approval="x", granted=True), age_s=3_600)
    async with log.read() as told:
        (said,) = await told.until(AboutCall)
        assert said.record.approval == "x"


async def test_a_page_is_told_no_more_than_it_can_show(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is told to begin later."""
    monkeypatch.setattr(live_log, "STEPS", 2)
    for text in "abc":
        await log.token(delta=text)
    async with log.read() as told:
        (ended,) = await told.until(Ended)
        assert "begin later" in ended.detail
        with pytest.raises(StopAsyncIteration):
            await anext(told._batches)


@pytest.mark.parametrize(("cap", "most"), [("STEPS", 2), ("PAST_BYTES", 100)])
async def test_no_more_events_are_kept_than_can_be_shown(
    log: Log, monkeypatch: pytest.MonkeyPatch, cap: str, most: int
) -> None:
    """Nor more bytes of them; they are read before their tokens."""
    monkeypatch.setattr(live_log, cap, most)
    await log.publish(*await log.token(delta="a "))
    async with log.read() as told:
        (ended,) = await told.until(Ended)
        assert "look back less far" in ended.detail


async def test_a_reader_whose_conversation_goes_on_elsewhere_is_told(
    log: Log, kafka: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the topic has grown; so is one whose Kafka does not answer."""
    monkeypatch.setattr(live_log, "LOOK_S", 0.1)
    async with log.read() as told:
        await told.caught_up()
        topics = log.config.topics
        await grow_topics(kafka, topics.tokens, topics.events, partitions=3)
        with pytest.raises(Unavailable, match="more partitions now"):
            await told.until(Ended)


async def test_a_topic_that_is_not_there_is_named(kafka: str, unique: str) -> None:
    """With what makes it."""
    config = Config(kafka=Kafka(bootstrap_servers=kafka), topics=Topics(tokens=f"none-{unique}"))
    with pytest.raises(Unavailable, match=f"no topic none-{unique}"):
        await anext(LiveLog(config, "c", 60).lines())
