"""The peer of the pipeline benchmark."""

import json
import shutil
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from tests.support.stage import until
from tests.support.topics import admin_of, make_topics, read_topic, write_topic
from tokenmill.bench.kafka import committed
from tokenmill.bench.streams import KafkaStreams, Streaming
from tokenmill.errors import MissingServer

CHUNKS = ["The ", "mill ", "grinds."]


@pytest.mark.integration
@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
async def test_each_chunk_becomes_an_event(kafka: str, unique: str, tmp_path: Path, delivery: str) -> None:
    """On the same partition and with the same key, numbered in its conversation, and committed."""
    source, target, group = f"in-{unique}", f"out-{unique}", f"g-{unique}"
    await make_topics(kafka, source, target)
    chunks = [json.dumps({"message_id": "m", "seq": seq, "delta": text}) for seq, text in enumerate(CHUNKS)]
    await write_topic(kafka, source, [(b"c", chunk.encode(), []) for chunk in chunks])
    async with admin_of(kafka) as admin:
        with KafkaStreams(tmp_path, Streaming(kafka, group, source, target, delivery, commit_interval_ms=50)):
            await until(lambda: _all_committed(admin, group, source), "commit everything")
    read, wrote = await read_topic(kafka, source), await read_topic(kafka, target)
    events = [json.loads(record.value) for record in wrote]
    assert [(event["delta"], event["seq"], event["message_id"]) for event in events] == [
        (text, seq, "m") for seq, text in enumerate(CHUNKS)
    ]
    assert [(record.partition, record.key) for record in wrote] == [(record.partition, record.key) for record in read]
    assert dict(wrote[2].headers) == {
        "tm-message-id": b"m",
        "tm-seq": b"2",
        "tm-opened": b"%d" % wrote[2].timestamp,
    }


async def _all_committed(admin: AIOKafkaAdminClient, group: str, topic: str) -> bool:
    return await committed(admin, group, topic) == len(CHUNKS)


def test_without_a_jdk_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs Kafka compiles nothing."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    process = KafkaStreams(tmp_path, Streaming("k:1", "g", "in", "out", "at-least-once", 100))
    with pytest.raises(MissingServer, match="install a JDK"):
        process.command()
