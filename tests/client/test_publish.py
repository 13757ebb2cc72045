"""Publishing chunks, on a real Kafka."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from aiokafka.errors import KafkaError

from tests.support.stage import until
from tests.support.topics import PARTITIONS, make_topics, read_topic
from tokenmill.client import Connection, Publisher, publish
from tokenmill.client.publish import FAILURES
from tokenmill.errors import Unavailable
from tokenmill.kafka.calls import started
from tokenmill.kafka.topics import SPARE
from tokenmill.limits import Limits

JAVA_HASHES = {"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536, "abc": 479470107}
"""Key → murmur2, as in the tests of the Java client."""

pytestmark = pytest.mark.integration


@pytest.fixture
async def publisher(kafka: str, unique: str) -> AsyncIterator[Publisher]:
    await make_topics(kafka, f"tokens-{unique}")
    async with Publisher(Connection(kafka), topic=f"tokens-{unique}") as publisher:
        yield publisher


async def chunks(publisher: Publisher) -> list[dict[str, Any]]:
    await publisher.flush()
    return await chunks_so_far(publisher)


async def chunks_so_far(publisher: Publisher) -> list[dict[str, Any]]:
    records = await read_topic(publisher.connection.bootstrap_servers, publisher.topic)
    return [msgspec.json.decode(record.value) for record in records]


async def test_a_missing_topic_is_said_with_what_makes_it(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is sent; a broker that creates topics has some time to do so."""
    monkeypatch.setattr(publish, "TOPIC_DEADLINE_S", 0.5)
    with pytest.raises(Unavailable, match=rf"nothing-{unique}.*topics create"):
        async with Publisher(Connection(kafka), topic=f"nothing-{unique}"):
            pass


async def test_a_message_becomes_numbered_chunks_with_its_options_first(publisher: Publisher) -> None:
    """`open` is sent once, `seq` counts, and the last chunk ends the message."""
    message = publisher.message("c1", "m1", open={"format": "hermes"})
    await message.reasoning("Hm.")
    await message.text("Hello")
    await message.finish("stop", usage={"total_tokens": 3})
    identity = {"conversation_id": "c1", "message_id": "m1"}
    assert await chunks(publisher) == [
        {**identity, "seq": 0, "open": {"format": "hermes"}, "reasoning": "Hm."},
        {**identity, "seq": 1, "delta": "Hello"},
        {**identity, "seq": 2, "usage": {"total_tokens": 3}, "finish_reason": "stop", "end": True},
    ]
    records = await read_topic(publisher.connection.bootstrap_servers, publisher.topic)
    assert {record.headers for record in records} == {(("tm-codec", b"native"),)}  # whatever the topic's codec is


async def test_who_finishes_waits_for_its_own_conversation(publisher: Publisher) -> None:
    """What other messages have under way may be thousands of records, and is theirs to wait for."""
    other = asyncio.get_running_loop().create_future()
    publisher._pending["c2", None] = other
    message = publisher.message("c1", "m1")
    await message.text("Hello")
    await message.finish()
    assert publisher._pending == {("c2", None): other}
    assert [chunk["message_id"] for chunk in await chunks_so_far(publisher)] == ["m1", "m1"]
    everything = asyncio.ensure_future(publisher.flush())
    await asyncio.sleep(0)
    assert not everything.done()
    other.set_result(None)
    await everything


async def test_tasks_may_write_a_message_side_by_side(publisher: Publisher, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each chunk has a number of its own, though the queue of records may be full when it comes."""
    room = without_room(publisher, monkeypatch)
    message = publisher.message("c1", "m1")
    texts = [asyncio.create_task(message.text(word)) for word in ("one", "two")]
    await asyncio.sleep(0)
    room.set()
    await asyncio.gather(*texts)
    assert [(chunk["seq"], chunk["delta"]) for chunk in await chunks(publisher)] == [(0, "one"), (1, "two")]


async def test_choices_of_a_message_count_for_themselves(publisher: Publisher) -> None:
    """Each alternative answer has its own `seq`, and says its number where it is not 0."""
    first, second = (publisher.message("c1", "m1", choice=choice) for choice in (0, 1))
    await first.text("a")
    await second.text("b")
    await second.cancel()
    assert publisher._pending == {}
    assert [(chunk.get("choice"), chunk["seq"], chunk.get("control")) for chunk in await chunks(publisher)] == [
        (None, 0, None),
        (1, 0, None),
        (1, 1, "cancel"),
    ]


async def test_a_message_without_an_id_gets_one_of_its_own(publisher: Publisher) -> None:
    """Two messages of a conversation are never taken for one."""
    for _ in range(2):
        await publisher.message("c1").text("a")
    first, second = await chunks(publisher)
    assert first["message_id"] != second["message_id"]


async def test_a_conversation_stays_on_the_partition_that_java_clients_choose(publisher: Publisher) -> None:
    """Keys are hashed with murmur2, as the Java client's default partitioner does."""
    for key in JAVA_HASHES:
        await publisher.send(key, b"{}")
    await publisher.flush()
    records = await read_topic(publisher.connection.bootstrap_servers, publisher.topic)
    assert {record.key.decode(): record.partition for record in records} == {
        key: (hash_ & 0x7FFFFFFF) % PARTITIONS for key, hash_ in JAVA_HASHES.items()
    }


async def test_a_refused_record_is_said(publisher: Publisher) -> None:
    """A record over the topic's limit fails with a sentence that names the limit, and is not tried again."""
    with pytest.raises(Unavailable, match=r"'tokens-.*' takes 1048588 bytes, its max\.message\.bytes"):
        await publisher.send("c1", b"x" * 2_000_000)


async def test_a_record_that_the_broker_refuses_fails_its_own_key_alone(kafka: str, unique: str) -> None:
    """Once; the publisher goes on with the others, and with later records of that key."""
    topic = f"tokens-{unique}"
    await make_topics(kafka, topic, partitions=1, max_message_bytes="1000")
    unchecked = Connection(kafka, producer={"max_request_size": 1 << 20})  # as if the topic had been changed since
    async with Publisher(unchecked, topic=topic) as publisher:
        await publisher.send("c1", b"x" * 2_000)
        with pytest.raises(Unavailable, match="MessageSizeTooLarge"):
            await publisher.flush("c1")
        for key in ("c2", "c1"):
            await publisher.send(key, b"{}")
            await publisher.flush(key)
        await publisher.send("c1", b"x" * 2_000)
        await asyncio.wait({publisher._pending["c1", None]})
        await publisher.send("c2", b"{}")
        await publisher.flush("c2")
        with pytest.raises(Unavailable, match="MessageSizeTooLarge"):
            await publisher.flush()
    assert [record.key for record in await read_topic(kafka, topic)] == [b"c2", b"c1", b"c2"]


def without_room(publisher: Publisher, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Let the publisher's producer take no record until the event is set."""
    producer, room = publisher._producer, asyncio.Event()
    assert producer is not None
    send = producer.send

    async def send_later(*record: Any, **options: Any) -> Any:
        await room.wait()
        return await send(*record, **options)

    monkeypatch.setattr(producer, "send", send_later)
    return room


async def test_a_record_that_waits_for_room_is_not_affected_by_one_that_is_refused(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes through the producer that takes the place of the one that it waited for."""
    await make_topics(kafka, topic := f"tokens-{unique}", partitions=1, max_message_bytes="1000")
    unchecked = Connection(kafka, producer={"max_request_size": 1 << 20})
    async with Publisher(unchecked, topic=topic) as publisher:
        await publisher.send("c1", b"x" * 2_000)
        room = without_room(publisher, monkeypatch)
        waiting = asyncio.create_task(publisher.send("c2", b"{}", iter([("a", b"1")])))
        await asyncio.wait({publisher._pending["c1", None]})
        with pytest.raises(Unavailable, match="MessageSizeTooLarge"):
            await publisher.send("c1", b"{}")
        room.set()
        await waiting
    assert [(record.key, record.headers) for record in await read_topic(kafka, topic)] == [(b"c2", (("a", b"1"),))]


async def test_a_producer_is_replaced_once_for_all_that_wait_for_it(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for a record that waited for room in the old one, which is closed before there is a new one."""
    await make_topics(kafka, topic := f"tokens-{unique}", partitions=1, max_message_bytes="1000")
    unchecked = Connection(kafka, producer={"max_request_size": 1 << 20})
    starts, may_start = list[str](), asyncio.Event()

    async def later(make: Any, what: str, seconds: float) -> Any:
        starts.append(what)
        await may_start.wait()
        return await started(make, what, seconds)

    async with Publisher(unchecked, topic=topic) as publisher:
        monkeypatch.setattr(publish, "started", later)
        await publisher.send("c1", b"x" * 2_000)
        room = without_room(publisher, monkeypatch)
        waiting = [asyncio.create_task(publisher.send("c2", b"{}"))]
        await asyncio.wait({publisher._pending["c1", None]})
        waiting += [asyncio.create_task(publisher.send(key, b"{}")) for key in ("c3", "c4")]
        await until(lambda: bool(starts), "the old one is closed")
        room.set()
        done, _ = await asyncio.wait(waiting, timeout=0.1)
        assert not done
        may_start.set()
        await asyncio.gather(*waiting, publisher.send("c5", b"{}"))
        with pytest.raises(Unavailable, match="MessageSizeTooLarge"):
            await publisher.flush("c1")
    assert len(starts) == 1
    assert {record.key for record in await read_topic(kafka, topic)} == {b"c2", b"c3", b"c4", b"c5"}


async def test_a_record_that_waits_at_the_end_of_the_block_is_not_sent(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the producer was to be replaced: the next one would stay open."""
    await make_topics(kafka, topic := f"tokens-{unique}", partitions=1, max_message_bytes="1000")
    unchecked = Connection(kafka, producer={"max_request_size": 1 << 20})
    publisher = await Publisher(unchecked, topic=topic).__aenter__()
    await publisher.send("c1", b"x" * 2_000)
    room = without_room(publisher, monkeypatch)
    waiting = asyncio.create_task(publisher.send("c2", b"{}"))
    await asyncio.wait({publisher._pending["c1", None]})
    with pytest.raises(Unavailable, match="MessageSizeTooLarge"):
        await publisher.__aexit__(None, None, None)
    room.set()
    with pytest.raises(RuntimeError, match="async with"):
        await waiting


async def test_each_key_s_refusal_is_raised() -> None:
    """One call raises one of them, and the others wait for the next."""
    publisher = Publisher()
    publisher._failures |= {"c1": KafkaError("one"), "c2": KafkaError("two")}
    for said in ("one", "two"):
        with pytest.raises(Unavailable, match=said):
            await publisher.flush()
    await publisher.flush()


async def test_refusals_of_keys_that_are_never_used_again_take_little_memory() -> None:
    """The newest are kept by key. Of the others `flush` raises the first, as it says why."""
    publisher, loop = Publisher(), asyncio.get_running_loop()
    for number in range(FAILURES + 10):
        refused = loop.create_future()
        refused.set_exception(KafkaError(f"refusal {number}."))
        publisher._settle((f"c{number}", None), refused)
    assert len(publisher._failures) == FAILURES
    await publisher.flush("c9")
    with pytest.raises(Unavailable, match=r"refusal 10\."):
        await publisher.flush("c10")
    publisher._failures.clear()
    with pytest.raises(Unavailable, match=r"refusal 0\."):
        await publisher.flush()
    await publisher.flush()


async def test_of_a_key_s_refusals_the_first_is_raised() -> None:
    """It says why; those behind it were refused as they came behind it. A later record is waited for all the same."""
    publisher, loop = Publisher(), asyncio.get_running_loop()
    first, second = loop.create_future(), loop.create_future()
    publisher._pending["c1", None] = second
    first.set_exception(KafkaError("one"))
    publisher._settle(("c1", None), first)
    assert publisher._pending == {("c1", None): second}
    second.set_exception(KafkaError("two"))
    publisher._settle(("c1", None), second)
    assert publisher._pending == {}
    with pytest.raises(Unavailable, match="one"):
        await publisher.flush()


async def test_the_longest_record_of_the_input_can_be_published(kafka: str, unique: str) -> None:
    """The topic that `topics create` makes takes it; the client's own limit would not."""
    longest = Limits().record_bytes
    await make_topics(kafka, topic := f"tokens-{unique}", max_message_bytes=str(longest + SPARE))
    async with Publisher(Connection(kafka), topic=topic) as publisher:
        await publisher.send("c1", b"x" * longest)
    (record,) = await read_topic(kafka, topic)
    assert len(record.value) == longest


async def test_a_batch_is_never_larger_than_the_topic_takes(kafka: str, unique: str) -> None:
    """Whatever the client is told: the broker would refuse all of its records, each of which it takes."""
    await make_topics(kafka, topic := f"tokens-{unique}", max_message_bytes="5000")
    async with Publisher(Connection(kafka, producer={"max_batch_size": 1_000_000}), topic=topic) as publisher:
        for _ in range(10):
            await publisher.send("c1", b"x" * 2_000)
    assert len(await read_topic(kafka, topic)) == 10


async def test_an_unreachable_broker_is_said_at_once() -> None:
    """Nothing listens on port 1."""
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1"):
        async with Publisher(Connection("127.0.0.1:1")):
            pass


async def test_sending_outside_the_block_is_a_mistake_of_the_caller() -> None:
    """There is no connection before and after it."""
    with pytest.raises(RuntimeError, match="async with"):
        await Publisher().send("c1", b"{}")
