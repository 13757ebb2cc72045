"""Topics are made once, grow, and never shrink."""

from functools import partial

import msgspec
import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.support.stage import Stage, until
from tests.support.topics import make_topics, unmade
from tokenmill.config import Config, Kafka
from tokenmill.demo.broker import embedded_broker
from tokenmill.errors import FatalError, Unavailable
from tokenmill.kafka import topics
from tokenmill.kafka.aiokafka_inside import network
from tokenmill.kafka.calls import until_available
from tokenmill.kafka.clients import Admin, client_options, make_admin
from tokenmill.kafka.topics import (
    LONGEST_BATCH,
    USUAL_BATCH,
    accepted_bytes,
    all_topics,
    create_topics,
    longest_batches,
    output_topics,
    partition_counts,
    settings_of,
)
from tokenmill.limits import Limits
from tokenmill.servers.kafka import SETTINGS

pytestmark = pytest.mark.integration


@pytest.fixture
def config(kafka: str, unique: str) -> Config:
    """Names of topics that do not exist yet."""
    return unmade(kafka, unique)


class _Early(Admin):
    """A client that came so early that its broker had no controller yet."""

    async def __aenter__(self) -> AIOKafkaAdminClient:
        admin = await super().__aenter__()
        network(admin).cluster.controller = None
        return admin


async def test_a_cluster_that_has_just_started_is_waited_for(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a controller no topic can be made, and that is not passed over in silence."""
    monkeypatch.setattr(topics, "make_admin", lambda kafka: _Early(client_options(kafka)))
    changes = await create_topics(config, 2)
    assert [(change.topic, change.outcome) for change in changes] == [(name, "created") for name in all_topics(config)]


async def test_topics_are_created_grown_and_left_alone(config: Config) -> None:
    """The same command again changes nothing, a larger number adds partitions, a smaller one does nothing."""
    told: list[tuple[str, int, int]] = []
    for partitions, outcome, found in ((2, "created", 2), (2, "unchanged", 2), (3, "grown", 3), (1, "unchanged", 3)):
        told.clear()
        changes = await create_topics(config, partitions, progress=lambda *how_far: told.append(how_far))
        assert told == [(f"topic {name}", done, len(told)) for done, name in enumerate(all_topics(config))]
        assert [change.topic for change in changes] == all_topics(config)
        assert {(change.outcome, change.partitions) for change in changes} == {(outcome, found)}
        await until(partial(_all_have, config, found), "the broker reports what it made")


async def _all_have(config: Config, partitions: int) -> bool:
    async with make_admin(config.kafka) as admin:
        counts = await partition_counts(admin, all_topics(config))
    return counts == dict.fromkeys(all_topics(config), partitions)


async def test_topics_hold_their_longest_record(config: Config) -> None:
    """The input a record of the limit, the outputs one of their cap; a missing topic is left out of the counts."""
    await create_topics(config, 2)
    async with make_admin(config.kafka) as admin:
        asked = dict.fromkeys(all_topics(config), (LONGEST_BATCH,))
        found = longest_batches(await until_available(lambda: settings_of(admin, asked), 30))
        counts = await partition_counts(admin, [*all_topics(config), "never-made"])
    assert found[config.topics.tokens] > Limits().record_bytes
    assert all(found[topic] >= Limits().output_bytes for topic in output_topics(config))
    assert counts == dict.fromkeys(all_topics(config), 2)


async def test_what_is_for_those_who_watch_is_kept_for_a_short_time(config: Config) -> None:
    """Rows of an agent for an hour, others for as long as their output sets; the rest by the broker's default."""
    await create_topics(config, 2)
    kept = {}
    async with make_admin(config.kafka) as admin:
        for output in config.outputs:
            wanted = {"retention.ms": None, "segment.ms": None}
            resource = ConfigResource(ConfigResourceType.TOPIC, output.topic, wanted)
            (response,) = await admin.describe_configs([resource])
            (entry,) = response.resources
            kept[output.topic.partition("-")[0]] = {name: int(value) for name, value, *_ in entry[4]}
    assert kept["live"] == {"retention.ms": 3_600_000, "segment.ms": 900_000}
    assert kept["brief"] == {"retention.ms": 60_000, "segment.ms": 60_000}
    assert kept["extra"]["retention.ms"] == int(SETTINGS["log.retention.ms"])


async def test_segments_are_closed_well_before_their_records_expire(config: Config) -> None:
    """Kafka deletes only whole segments, and by default writes to one for a week: prompts would be kept as long."""
    await create_topics(config, 2)
    for topic, days in ((config.topics.requests, 1), (config.topics.tool_state, 7)):
        async with make_admin(config.kafka) as admin:
            found = await until_available(partial(settings_of, admin, {topic: ("retention.ms", "segment.ms")}), 30)
        assert found[topic] == {"retention.ms": str(days * 86_400_000), "segment.ms": str(days * 21_600_000)}


async def test_what_is_kept_of_answers_has_topics_if_they_have_names(config: Config, unique: str) -> None:
    """The last session record of each answer stays for ever; completions expire."""
    names = {"completions": f"completions-{unique}", "sessions": f"sessions-{unique}"}
    config = msgspec.structs.replace(config, topics=msgspec.structs.replace(config.topics, **names))
    await create_topics(config, 2)
    policies = {}
    async with make_admin(config.kafka) as admin:
        for topic in names.values():
            resource = ConfigResource(ConfigResourceType.TOPIC, topic, {"cleanup.policy": None})
            (response,) = await admin.describe_configs([resource])
            (entry,) = response.resources
            policies[topic.partition("-")[0]] = entry[4][0][1]
    assert policies == {"completions": "delete", "sessions": "compact"}


async def test_settings_of_a_topic_that_is_not_there_are_unavailable(config: Config) -> None:
    """It may still come: the start is tried again."""
    async with make_admin(config.kafka) as admin:
        with pytest.raises(Unavailable, match=config.topics.tokens):
            await settings_of(admin, {config.topics.tokens: (LONGEST_BATCH,)})


def test_what_the_broker_leaves_out_is_not_known() -> None:
    """Some brokers report less of a topic than they are asked for; what they report is used."""
    assert longest_batches({"events": {}, "dlq": {LONGEST_BATCH: "7"}}) == {"dlq": 7}


async def test_a_topic_takes_the_usual_batch_where_no_other_is_reported() -> None:
    """The embedded broker lacks the request; that is no reason to log anything."""
    with embedded_broker(["t"]) as bootstrap:
        async with make_admin(Kafka(bootstrap_servers=bootstrap)) as admin:
            assert await settings_of(admin, {"t": (LONGEST_BATCH,)}) == {}
            assert await accepted_bytes(admin, ["t"]) == {"t": USUAL_BATCH}


async def test_what_one_topic_takes_is_known_though_another_is_missing(
    config: Config, unique: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The missing one is named in the log."""
    await make_topics(config.kafka.bootstrap_servers, made := f"made-{unique}", max_message_bytes="5000")
    async with make_admin(config.kafka) as admin:
        assert await accepted_bytes(admin, ["missing", made]) == {"missing": USUAL_BATCH, made: 5_000}
    (line,) = [record.getMessage() for record in caplog.records if "records of up to" in record.getMessage()]
    assert "topic missing" in line


async def test_a_refusal_is_said(config: Config) -> None:
    """More replicas than there are brokers."""
    with pytest.raises(FatalError, match="InvalidReplicationFactor"):
        await create_topics(config, 2, replication=3)


async def test_a_topic_that_was_made_meanwhile_is_no_problem(config: Config, stage: Stage) -> None:
    """Two deployments start at once."""
    await create_topics(config, 2)
    from tokenmill.kafka.topics import _create  # noqa: PLC0415 -- what a slower one would do now

    async with make_admin(config.kafka) as admin:
        await _create(admin, stage.topics.tokens, 2, 1, {})
