"""Whether a member's topic is there, on a real Kafka."""

import pytest

from tests.support.stage import until
from tests.support.topics import admin_of, make_topics
from tokenmill.config import Kafka
from tokenmill.kafka.calls import started, stopped
from tokenmill.kafka.clients import make_consumer
from tokenmill.kafka.topic_presence import TopicPresence

pytestmark = pytest.mark.integration


async def test_a_topic_that_is_not_there_is_told_of_and_found_when_it_is_made(kafka: str, unique: str) -> None:
    """Long before a client's view of topics is too old."""

    async def looked() -> str:
        await presence.look(consumer)
        return presence.missing

    async def gone() -> bool:
        return f"no topic {unique}" in await looked()

    async def there() -> bool:
        return not await looked()

    def lacks() -> str:
        return presence.lacks

    await make_topics(kafka, unique, partitions=1)
    presence = TopicPresence(unique)
    settings = Kafka(bootstrap_servers=kafka, group_id=unique, consumer={"metadata_max_age_ms": 600_000})
    consumer = await started(lambda: make_consumer(settings, "earliest"), "join", 60)
    try:
        consumer.subscribe([unique])
        await until(consumer.assignment, "it has its partition")
        assert not await looked()
        assert lacks() == "the group has given no partitions yet"
        presence.assigned = True
        assert not await looked()
        assert not lacks()
        async with admin_of(kafka) as admin:
            await admin.delete_topics([unique])
        await consumer.getmany(timeout_ms=10)
        await until(gone, "it is missed")
        presence.assigned = True  # what the group gives meanwhile does not count
        assert await gone()
        assert not presence.assigned
        await make_topics(kafka, unique, partitions=1)
        await until(there, "it is found")
        await until(consumer.assignment, "it has its partition again")
        assert lacks() == "the group has given no partitions yet"
    finally:
        await stopped(consumer)
