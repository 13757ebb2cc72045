"""Which calls wait for a word, as whoever says one sees it."""

import asyncio
import time

import msgspec
import pytest
from aiokafka import AIOKafkaProducer

from tests.support.away import goes_away_while_read
from tests.support.topics import make_topics, read_topic
from tokenmill.config import Config, Kafka, Tools, Topics
from tokenmill.errors import Unavailable
from tokenmill.tools import control_client
from tokenmill.tools.call import Call
from tokenmill.tools.control import Approval, Cancel, read_control, request_for
from tokenmill.tools.control_client import questions, say

pytestmark = pytest.mark.integration


@pytest.fixture
async def config(kafka: str, unique: str) -> Config:
    topic = f"control-{unique}"
    await make_topics(kafka, topic, partitions=2)
    return Config(kafka=Kafka(bootstrap_servers=kafka), topics=Topics(tool_control=topic), tools=Tools(approve_s=60))


async def test_questions_are_those_without_an_answer(config: Config) -> None:
    """That are not too old, in the order of their ends."""
    now = int(time.time() * 1000)
    asked = {
        id_: request_for(Call("c", "m", 0, 1, id_, "w__note", {}, now), "f", now + left_s * 1000)
        for id_, left_s in {"later": 60, "soon": 30, "answered": 50, "over": -1}.items()
    }
    approval = Approval(approval=asked["answered"].approval, granted=True)
    await say(config, [*(("c", each) for each in asked.values()), ("c", approval)])
    assert [each.id for each in await questions(config)] == ["soon", "later"]


async def test_a_question_waits_for_as_long_as_its_runner_said(config: Config) -> None:
    """The runner's `tools.approve_s` counts, not that of the person's own configuration."""
    now_ms = int(time.time() * 1000)
    asked_ms = now_ms - 10 * 60_000
    request = request_for(Call("c", "m", 0, 1, "waits", "w__note", {}, asked_ms), "f", now_ms + 3_000_000)
    kafka, topic = config.kafka.bootstrap_servers, config.topics.tool_control
    async with AIOKafkaProducer(bootstrap_servers=kafka) as producer:
        await producer.send_and_wait(topic, msgspec.json.encode(request), b"c", timestamp_ms=asked_ms)
    assert [each.id for each in await questions(config)] == ["waits"]


async def test_words_lie_in_the_partition_of_their_conversation(config: Config) -> None:
    """In the order in which they were said."""
    words = [Cancel(conversation_id="c", message_id=str(number)) for number in range(5)]
    await say(config, [("c", word) for word in words])
    records = await read_topic(config.kafka.bootstrap_servers, config.topics.tool_control)
    assert [read_control(record.value) for record in records] == words
    assert {(record.key, record.partition) for record in records} == {(b"c", records[0].partition)}


async def test_a_kafka_that_goes_away_while_it_is_read_is_unavailable(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader of a topic waits for it for as long as it takes; who asks for what there is now does not."""
    await say(config, [("c", Cancel(conversation_id="c"))])
    monkeypatch.setattr(control_client, "READ_S", 1)
    goes_away_while_read(monkeypatch)
    async with asyncio.timeout(30):
        with pytest.raises(Unavailable, match="was not read to its end within 1 s"):
            await questions(config)


async def test_without_the_topic_nothing_can_be_said(config: Config) -> None:
    """And the error says how it comes to be."""
    none = msgspec.structs.replace(config, topics=Topics(tool_control="not-there"))
    with pytest.raises(Unavailable, match="`tokenmill topics create` makes it"):
        await questions(none)
