"""The reference of the pipeline benchmark."""

from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from tests.support.stage import until
from tests.support.topics import admin_of, make_topics, read_topic, write_topic
from tokenmill.bench.kafka import committed
from tokenmill.bench.passthrough import Job, PassThrough

pytestmark = pytest.mark.integration


async def test_one_record_of_the_given_size_comes_out_for_each_that_goes_in(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """On the same partition, with the same key and time, and committed."""
    source, target, group = f"in-{unique}", f"out-{unique}", f"g-{unique}"
    await make_topics(kafka, source, target)
    await write_topic(kafka, source, [(b"c%d" % number, b"v", []) for number in range(100)])
    job = Job(kafka, group, source, target, value_bytes=10, commit_interval_s=0.05, batch_bytes=500)
    async with admin_of(kafka) as admin:
        with PassThrough(tmp_path, job):
            await until(lambda: _all_committed(admin, group, source), "commit everything")
    read, wrote = await read_topic(kafka, source), await read_topic(kafka, target)
    places = [sorted((r.partition, r.offset, r.key, r.timestamp) for r in records) for records in (read, wrote)]
    assert places[0] == places[1]
    assert {record.value for record in wrote} == {b"x" * 10}


async def _all_committed(admin: AIOKafkaAdminClient, group: str, topic: str) -> bool:
    return await committed(admin, group, topic) == 100
