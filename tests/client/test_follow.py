"""Following a topic, on a real Kafka."""

import asyncio
from contextlib import ExitStack, aclosing
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import RecordsToDelete

from tests.support.topics import admin_of, grow_topics, make_topics, write_topic
from tokenmill.client import Connection, Follower, Publisher, Repeats
from tokenmill.client import follow as module
from tokenmill.demo.broker import embedded_broker
from tokenmill.errors import Unavailable
from tokenmill.events import Finish, TextDelta
from tokenmill.kafka import to_end

pytestmark = pytest.mark.integration

Record = tuple[bytes, bytes | None, list[tuple[str, bytes]]]


def delta(conversation: str, seq: int) -> Record:
    """A record as the worker writes it."""
    event = TextDelta("t0", str(seq), conversation_id=conversation, message_id="m1", seq=seq, time=1)
    headers = [("tm-message-id", b"m1"), ("tm-choice", b"0"), ("tm-seq", str(seq).encode()), ("tm-part", b"1/1")]
    return conversation.encode(), msgspec.json.encode(event), headers


@pytest.fixture
async def topic(kafka: str, unique: str) -> str:
    await make_topics(kafka, f"events-{unique}")
    return f"events-{unique}"


async def seen(follower: Follower) -> list[tuple[str, str]]:
    async with follower, asyncio.timeout(30):
        return [
            (event.conversation_id, event.delta) async for event in follower.events() if isinstance(event, TextDelta)
        ]


async def test_everything_up_to_the_end_is_read(kafka: str, topic: str) -> None:
    """Each partition in order, and then it stops by itself."""
    await write_topic(kafka, topic, [delta(f"c{number % 5}", number // 5) for number in range(50)])
    got = await seen(Follower(Connection(kafka), topic=topic, from_beginning=True, until_end=True))
    assert {name: [text for other, text in got if other == name] for name, _ in got} == {
        f"c{number}": [str(seq) for seq in range(10)] for number in range(5)
    }


async def test_what_is_written_once_the_end_is_known_is_behind_it(
    kafka: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same batch may hold it."""
    await write_topic(kafka, topic, [delta("c", 0)])
    end_offsets = AIOKafkaConsumer.end_offsets

    async def and_more(*asked: Any) -> Any:
        ends = await end_offsets(*asked)
        await write_topic(kafka, topic, [delta("c", seq) for seq in range(1, 5)])
        return ends

    monkeypatch.setattr(AIOKafkaConsumer, "end_offsets", and_more)
    async with Follower(Connection(kafka), topic=topic, from_beginning=True, until_end=True) as follower:
        assert [event.delta async for event in follower.events() if isinstance(event, TextDelta)] == ["0"]


async def test_one_conversation_is_picked_out(kafka: str, topic: str) -> None:
    """Others on the same partition are passed over."""
    await write_topic(kafka, topic, [delta(f"c{number}", 0) for number in range(20)])
    follower = Follower(Connection(kafka), topic=topic, conversation_id="c7", from_beginning=True, until_end=True)
    assert await seen(follower) == [("c7", "0")]


async def test_repeats_are_dropped_only_where_that_is_asked_for(kafka: str, topic: str) -> None:
    """What a worker published twice is delivered once."""
    await write_topic(kafka, topic, [delta("c1", seq) for seq in (0, 1, 0, 1, 2)])
    for repeats, texts in ((Repeats(), "012"), (None, "01012")):
        follower = Follower(Connection(kafka), topic=topic, from_beginning=True, until_end=True, repeats=repeats)
        assert "".join(text for _, text in await seen(follower)) == texts


async def test_it_is_known_how_far_the_reader_is(kafka: str, topic: str) -> None:
    """Of the offsets between its beginning and the end; what comes behind that counts no more."""
    await write_topic(kafka, topic, [delta(f"c{number}", 0) for number in range(20)])
    follower = Follower(Connection(kafka), topic=topic, conversation_id="c7", from_beginning=True, until_end=True)
    async with follower:
        assert follower.how_far == (0, 20)
        await write_topic(kafka, topic, [delta(f"c{number}", 1) for number in range(20)])
        assert [record.key async for record in follower.records()] == [b"c7"]
        assert follower.how_far == (20, 20)
    async with Follower(Connection(kafka), topic=topic) as follower:
        assert follower.how_far == (0, 0)


@pytest.mark.parametrize("until_end", [True, False])
async def test_a_reader_that_breaks_off_continues_with_the_next_record(
    kafka: str, topic: str, *, until_end: bool
) -> None:
    """The rest of what was fetched with its last record is not lost, and nothing comes twice."""
    await write_topic(kafka, topic, [delta("c1", seq) for seq in range(5)])
    follower = Follower(Connection(kafka), topic=topic, from_beginning=True, until_end=until_end, repeats=Repeats())
    got: list[object] = []
    async with follower, asyncio.timeout(30):
        while len(got) < 5:
            async for event in follower.events():
                got.append(event.seq)
                break
        assert not until_end or [record async for record in follower.records()] == []
    assert got == list(range(5))


async def test_an_empty_topic_is_at_its_end(kafka: str, topic: str) -> None:
    """Nothing to wait for."""
    assert await seen(Follower(Connection(kafka), topic=topic, from_beginning=True, until_end=True)) == []


async def test_following_starts_with_the_next_record(kafka: str, topic: str) -> None:
    """What is on the topic when the block is entered is not delivered; the first record after that is."""
    await write_topic(kafka, topic, [delta("c1", 0)])
    async with Follower(Connection(kafka), topic=topic) as follower, asyncio.timeout(30):
        await write_topic(kafka, topic, [delta("c1", 1)])
        async with aclosing(follower.records()) as records:
            assert b'"seq":1' in (await anext(records)).value


async def test_partitions_that_are_added_are_followed(kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From their first records on; of the others nothing is missed and nothing comes twice."""
    monkeypatch.setattr(module, "GROWTH_S", 0.2)
    topic, names = f"events-{unique}", [f"c{number}" for number in range(20)]
    await make_topics(kafka, topic, partitions=1)
    await write_topic(kafka, topic, [delta("before", 0)])
    async with (
        asyncio.timeout(60),
        Follower(Connection(kafka), topic=topic) as follower,
        aclosing(follower.records()) as records,
    ):
        await write_topic(kafka, topic, [delta(name, 0) for name in names])
        got = [await anext(records) for _ in names]
        await grow_topics(kafka, topic, partitions=4)
        await write_topic(kafka, topic, [delta(name, 1) for name in names])
        got += [await anext(records) for _ in names]
    assert sorted(record.key.decode() for record in got) == sorted(names * 2)
    assert {record.partition for record in got} == {0, 1, 2, 3}


async def test_payloads_that_are_no_events_are_passed_over(kafka: str, topic: str) -> None:
    """A topic may hold another dialect, or tombstones."""
    finish = msgspec.json.encode(Finish("stop"))
    await write_topic(kafka, topic, [(b"c1", b"[DONE]", []), (b"c1", None, []), (b"c1", finish, [])])
    async with Follower(Connection(kafka), topic=topic, from_beginning=True, until_end=True) as follower:
        assert [event.type async for event in follower.events()] == ["finish"]


async def test_what_the_log_has_lost_is_passed_over(kafka: str, unique: str) -> None:
    """And nothing else is: what it still has is read, and then the reader is at its end."""
    topic = f"events-{unique}"
    await make_topics(kafka, topic, partitions=1)
    await write_topic(kafka, topic, [delta("c1", seq) for seq in range(4)])
    async with Follower(Connection(kafka), topic=topic, from_beginning=True, until_end=True) as follower:
        async with admin_of(kafka) as admin:
            await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(2)})
        assert follower._consumer is not None
        follower._consumer.seek(TopicPartition(topic, 0), 0)  # what it had ahead is thrown away
        async with asyncio.timeout(30):
            assert [event.seq async for event in follower.events()] == [2, 3]


async def test_a_kafka_that_goes_away_ends_a_reading_that_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a command that lists what there is; who follows would wait for Kafka to come back."""
    monkeypatch.setattr(to_end, "SILENT_S", 0.1)
    with ExitStack() as stack:
        connection = Connection(stack.enter_context(embedded_broker(["events"])))
        async with Publisher(connection, topic="events") as publisher:
            await publisher.send("c1", b"{}")
        async with Follower(connection, from_beginning=True, until_end=True) as follower, asyncio.timeout(60):
            await asyncio.to_thread(stack.close)
            follower._ends = {place: end + 1 for place, end in follower._ends.items()}  # more than it has fetched
            with pytest.raises(Unavailable, match="read 'events'"):
                assert len([record async for record in follower.records()]) <= 1


async def test_a_missing_topic_is_said_with_what_makes_it(kafka: str, unique: str) -> None:
    """Nobody waits for a topic that does not exist."""
    with pytest.raises(Unavailable, match="topics create"):
        async with Follower(Connection(kafka), topic=f"nothing-{unique}"):
            pass


async def test_reading_outside_the_block_is_a_mistake_of_the_caller() -> None:
    """There is no connection before and after it."""
    with pytest.raises(RuntimeError, match="async with"):
        await anext(Follower().records())
