"""The floor of exactly-once."""

from pathlib import Path

import pytest

from tests.support.stage import until
from tests.support.topics import admin_of, make_topics, read_topic, write_topic
from tokenmill.bench.kafka import committed
from tokenmill.bench.passthrough import Job
from tokenmill.bench.transacting import Transacting

pytestmark = pytest.mark.integration


async def test_what_comes_out_is_committed_with_what_went_in(kafka: str, unique: str, tmp_path: Path) -> None:
    """One record for each on the same partition, which a reader of what is committed sees; several transactions."""
    source, target, group = f"in-{unique}", f"out-{unique}", f"g-{unique}"
    await make_topics(kafka, source, target)
    records: list[tuple[bytes, bytes | None, list[tuple[str, bytes]]]] = [
        (b"c%d" % number, b"v", []) for number in range(100)
    ]
    job = Job(kafka, group, source, target, value_bytes=10, commit_interval_s=0.05)
    async with admin_of(kafka) as admin:
        with Transacting(tmp_path, job):
            for times in (1, 2):
                await write_topic(kafka, source, records)

                async def all_committed(count: int = 100 * times) -> bool:
                    return await committed(admin, group, source) == count

                await until(all_committed, "commit everything")
    read, wrote = await read_topic(kafka, source), await read_topic(kafka, target)
    places = [sorted((r.partition, r.key, r.timestamp) for r in records) for records in (read, wrote)]
    assert places[0] == places[1]
    assert {record.value for record in wrote} == {b"x" * 10}
