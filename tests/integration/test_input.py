"""What no record may do: stop its partition. Long ones and wrong ones on real Kafka."""

import asyncio
import json
import time
from contextlib import suppress

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import InvalidTimestampError
from confluent_kafka import Producer

from tests.support.raw_names import LATIN, READ, RawName, send_raw
from tests.support.stage import Stage, until
from tests.support.topics import admin_of
from tokenmill.limits import Limits
from tokenmill.servers.process import free_port
from tokenmill.worker.topic_checks import AFTER, EVER, taking_all

pytestmark = pytest.mark.integration


async def _roomy(stage: Stage) -> None:
    """An input topic that takes longer records than the worker does; the outputs have the broker's default."""
    await stage.raise_limit(stage.topics.tokens, 8 << 20)


async def test_a_record_of_exactly_the_limit_is_parsed_and_a_longer_one_is_a_dead_letter(stage: Stage) -> None:
    """The cap of a record counts the bytes of its value; the dead letter is over its own cap and goes without value."""
    await _roomy(stage)
    limit = Limits().record_bytes
    shell = len(json.dumps({"message_id": "m", "seq": 0, "delta": ""}))
    await stage.start()
    await stage.send("c", {"message_id": "m", "seq": 0, "delta": "x" * (limit - shell)}, partition=0)
    longer = await stage.send("c", {"message_id": "n", "seq": 0, "delta": "x" * (limit - shell + 1)}, partition=0)
    await stage.send("c", {"message_id": "m", "seq": 1, "delta": "end", "finish_reason": "stop"}, partition=0)
    await until(stage.caught_up, "the partition goes on")

    text = "".join(event["delta"] for event in await stage.events() if event["type"] == "text-delta")
    assert text == "x" * (limit - shell) + "end"
    [letter] = await stage.read(stage.topics.dlq)
    headers = dict(letter.headers)
    assert letter.value is None
    assert letter.key == b"c"
    assert headers["tm-error-code"] == b"too-large"
    assert headers["tm-truncated"] == b"1"
    assert headers["tm-source-offset"] == b"%d" % longer


async def test_a_call_of_two_megabytes_becomes_an_error_and_its_text(stage: Stage) -> None:
    """The call's cap ends it: one `limit`, the source comes out as text, every character once, and the message ends."""
    await stage.start()
    opening = '<tool_call>\n{"name": "f", "arguments": {"a": "'
    pieces = [opening, *["y" * 100_000] * 20, '"}}\n</tool_call>']
    chunks = [{"message_id": "m", "seq": seq, "delta": piece} for seq, piece in enumerate(pieces)]
    chunks[0]["open"] = {"format": "hermes"}
    chunks[-1]["finish_reason"] = "stop"
    await stage.send_all(("c", chunk) for chunk in chunks)
    await until(stage.caught_up, "the partition goes on")

    events = await stage.events()
    assert [event["code"] for event in events if event["type"] == "error"] == ["limit"]
    assert "".join(event["delta"] for event in events if event["type"] == "text-delta") == "".join(pieces)
    assert events[-1]["type"] == "finish"
    assert await stage.read(stage.topics.tool_calls) == []


async def test_wrong_records_go_to_the_dead_letter_topic_as_they_came(stage: Stage) -> None:
    """Undecodable, keyless, contradicting, of an unknown codec or option: dead letters; the partition goes on."""
    await stage.start()
    value = b'{"message_id": "m", "seq": 0, "delta": "x"}'
    wrong = {
        "undecodable": await stage.send("c", b"{", [("own", b"1")], partition=0),
        "bad-key": await stage.send(None, value, partition=0),
        "unknown-codec": await stage.send("c", value, [("tm-codec", b"morse")], partition=0),
        "bad-open": await stage.send("c", {"message_id": "m", "open": {"colour": 1}, "delta": "x"}, partition=0),
        "orphan": await stage.send("c", {"message_id": "m", "seq": 3, "delta": "x"}, partition=0),
    }
    await stage.send("c", {"message_id": "m", "seq": 0, "delta": "good", "end": True}, partition=0)
    await until(stage.caught_up, "the partition goes on")

    letters = {dict(letter.headers)["tm-error-code"].decode(): letter for letter in await stage.read(stage.topics.dlq)}
    assert {code: int(dict(letter.headers)["tm-source-offset"]) for code, letter in letters.items()} == wrong
    assert letters["undecodable"].value == b"{"
    assert letters["undecodable"].headers[0] == ("own", b"1")
    assert [event["type"] for event in await stage.events()][-1] == "finish"


async def test_a_header_whose_name_is_not_utf8_stops_no_worker(stage: Stage) -> None:
    """Brokers take any bytes: such a record is read as others are, and a dead letter has what of the name is UTF-8."""
    producer = AIOKafkaProducer(bootstrap_servers=stage.bootstrap)
    await producer.start()
    try:
        odd = [(RawName(LATIN), b"1")]
        chunks = [b'{"message_id": "m", "seq": 0, "delta": "a"}', b"{", b'{"message_id": "m", "seq": 1, "delta": "b"}']
        await send_raw(producer, stage.topics.tokens, 0, [(b"c", value, odd) for value in chunks])
    finally:
        await producer.stop()
    await stage.send("c", {"message_id": "m", "seq": 2, "delta": "c", "end": True}, partition=0)
    await stage.start()
    await until(stage.caught_up, "the partition goes on")
    assert "".join(event["delta"] for event in await stage.events() if event["type"] == "text-delta") == "abc"
    [letter] = await stage.read(stage.topics.dlq)
    assert (letter.value, letter.headers[0]) == (b"{", (READ, b"1"))


async def test_the_output_cap_follows_the_topics(stage: Stage) -> None:
    """A topic that takes less than the configuration says lowers the cap; the worker says so and goes on."""
    await stage.raise_limit(stage.topics.events, 600_000)
    worker = await stage.start()
    assert any("output_bytes is lowered" in line["message"] for line in stage.logged(worker))


async def _takes_all_times(stage: Stage, topic: str, value: bytes, partition: int) -> None:
    """Alter a topic, and put a record on it that is two days ahead: the broker heeds a setting some time later."""
    async with admin_of(stage.bootstrap) as admin:
        setting = {AFTER: str(EVER)}
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, setting)])
    producer = AIOKafkaProducer(bootstrap_servers=stage.bootstrap)
    await producer.start()
    ahead = int(time.time() * 1000) + 2 * 86_400_000

    async def taken() -> bool:
        with suppress(InvalidTimestampError):
            await producer.send_and_wait(topic, value, b"c", partition=partition, timestamp_ms=ahead)
            return True
        return False

    try:
        await until(taken, "the broker takes it")
    finally:
        await producer.stop()


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
async def test_a_time_that_an_output_does_not_take_is_said_with_the_remedy(stage: Stage, delivery: str) -> None:
    """First when the worker starts, then when it ends by it; once the topic takes it, all comes out."""
    events = stage.topics.events
    await _takes_all_times(stage, stage.topics.tokens, b'{"delta": "x"}', 0)
    worker = stage.prepare(delivery=delivery)
    worker.port = free_port()  # it is started once, and not again on another
    starting = asyncio.create_task(asyncio.to_thread(worker.start))
    await until(lambda: any(line["level"] == "critical" for line in stage.logged(worker)), "it ends")
    await asyncio.gather(starting, return_exceptions=True)
    said = {line["level"]: line["message"] for line in stage.logged(worker) if taking_all(events) in line["message"]}
    assert said["warning"].startswith(f"topic {events}: its {AFTER} is 3600000, so it may refuse")
    assert said["critical"].startswith(f"topic {events} rejects the timestamp of a record")
    await _takes_all_times(stage, events, b'{"type": "of the test"}', 1)
    await stage.start(delivery=delivery)
    await until(stage.caught_up, "the partition goes on")
    assert [event["type"] for event in await stage.events()] == [
        *("message-start", "text-start", "text-delta", "of the test")
    ]


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
async def test_records_may_be_compressed(stage: Stage, delivery: str) -> None:
    """By producers, with whatever Kafka knows, and by the worker: what is read stays the same."""
    stage.settings["worker"]["delivery"] = delivery
    stage.settings["kafka"]["producer"] = {"compression_type": "zstd"}
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        producer = Producer({"bootstrap.servers": stage.bootstrap, "compression.type": codec, "linger.ms": 50})
        for seq in range(100):
            chunk = {"message_id": codec, "seq": seq, "delta": "the mill grinds "}
            producer.produce(stage.topics.tokens, json.dumps(chunk), "c", partition=0)
        assert producer.flush(30) == 0
    await stage.start()
    await until(stage.caught_up, "everything is read")
    text = "".join(event["delta"] for event in await stage.events() if event["type"] == "text-delta")
    assert text == "the mill grinds " * 400
    assert await stage.read(stage.topics.dlq) == []
