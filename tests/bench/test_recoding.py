"""The floor of the pipeline benchmark."""

import json
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from tests.support.stage import until
from tests.support.topics import admin_of, make_topics, read_topic, write_topic
from tokenmill.bench.kafka import committed
from tokenmill.bench.load import whole_messages
from tokenmill.bench.passthrough import Job
from tokenmill.bench.recoding import Recoding

pytestmark = pytest.mark.integration


async def test_each_chunk_becomes_an_event(kafka: str, unique: str, tmp_path: Path) -> None:
    """With the contract's headers, numbered in its conversation, in several batches, and committed."""
    source, target, group = f"in-{unique}", f"out-{unique}", f"g-{unique}"
    await make_topics(kafka, source, target)
    records = list(whole_messages(2))
    await write_topic(kafka, source, [(record.key or b"", record.value, []) for record in records])
    job = Job(kafka, group, source, target, value_bytes=0, commit_interval_s=0.05, batch_bytes=2_000)

    async def all_committed(admin: AIOKafkaAdminClient) -> bool:
        return await committed(admin, group, source) == len(records)

    async with admin_of(kafka) as admin:
        with Recoding(tmp_path, job):
            await until(lambda: all_committed(admin), "commit everything")
    read, wrote = await read_topic(kafka, source), await read_topic(kafka, target)
    assert [(r.partition, r.offset, r.key) for r in wrote] == [(r.partition, r.offset, r.key) for r in read]
    for chunk, event in zip(read, wrote, strict=True):
        said, told = json.loads(chunk.value), json.loads(event.value)
        assert (told["delta"], told["seq"]) == (said.get("delta", ""), said["seq"])
        assert (told["conversation_id"], told["time"]) == (chunk.key.decode(), event.timestamp)
        assert dict(event.headers) == {
            "tm-message-id": b"m1",
            "tm-seq": b"%d" % said["seq"],
            "tm-opened": b"%d" % event.timestamp,
        }
