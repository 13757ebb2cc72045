"""What is required of topics: that they exist, and that outputs take all that the input takes."""

from collections.abc import Iterable, Mapping

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.support.stage import until
from tests.support.topics import unmade
from tokenmill.config import Config
from tokenmill.errors import Unavailable
from tokenmill.kafka.calls import until_available
from tokenmill.kafka.clients import make_admin
from tokenmill.kafka.topics import TIMESTAMPS, all_topics, create_topics, output_topics
from tokenmill.worker import topic_checks
from tokenmill.worker.topic_checks import (
    AFTER,
    APPENDED,
    BEFORE,
    EVER,
    RETENTION,
    check_topics,
    cleanup_policy,
    narrow,
    narrow_times,
    short,
    short_retention,
    stamped_anew,
    taking_all,
)

HOUR = 3_600_000


@pytest.fixture
def config(kafka: str, unique: str) -> Config:
    """Names of topics that do not exist yet."""
    return unmade(kafka, unique)


@pytest.mark.parametrize(
    ("tokens", "events", "named"),
    [
        ({AFTER: str(HOUR), BEFORE: str(EVER)}, {AFTER: str(HOUR), BEFORE: str(EVER)}, []),
        ({AFTER: str(2 * HOUR)}, {AFTER: str(HOUR)}, [AFTER]),
        ({AFTER: str(HOUR)}, {AFTER: str(2 * HOUR)}, []),
        ({BEFORE: str(HOUR)}, {BEFORE: str(HOUR)}, [BEFORE]),
        ({AFTER: str(EVER)}, {AFTER: "0", BEFORE: "0"}, [AFTER, BEFORE]),
        ({}, {AFTER: str(HOUR)}, []),
        ({AFTER: str(EVER)}, {}, []),
        ({AFTER: str(EVER), TIMESTAMPS: APPENDED}, {AFTER: str(HOUR)}, []),
        ({AFTER: None}, {AFTER: str(HOUR), BEFORE: None}, []),
    ],
)
def test_outputs_that_take_fewer_times_are_named(
    tokens: dict[str, str | None], events: dict[str, str | None], named: list[str]
) -> None:
    """However old a record is, outputs must take it, as it may be published late; what is not reported is right."""
    sentences = narrow("tokens", ["events"], {"tokens": tokens, "events": events})
    assert [sentence.split(" is ")[0] for sentence in sentences] == [f"topic events: its {key}" for key in named]
    assert all(sentence.endswith(taking_all("events")) for sentence in sentences)


@pytest.mark.integration
async def test_outputs_keep_the_times_of_their_input(config: Config) -> None:
    """Whatever the broker's default. A topic that was made otherwise is named, with the command that corrects it."""
    await create_topics(config, 2)
    topic = config.topics.events
    async with make_admin(config.kafka) as admin:
        outputs = output_topics(config)
        assert await until_available(lambda: stamped_anew(admin, outputs), 30) == []
        other = {"message.timestamp.type": "LogAppendTime"}
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, other)])

        async def told() -> list[str]:
            return await stamped_anew(admin, outputs)

        (sentence,) = await until(told, "the topic is another one")
    assert sentence.startswith(f"topic {topic}: its message.timestamp.type is LogAppendTime, so ")
    assert f"--entity-name {topic} --add-config message.timestamp.type=CreateTime`" in sentence
    (differs,) = [change.differs for change in await create_topics(config, 2) if change.topic == topic]
    assert "message.timestamp.type: LogAppendTime, not CreateTime" in differs


@pytest.mark.integration
async def test_outputs_that_take_fewer_times_than_the_input_are_named(config: Config) -> None:
    """By default they take the same. The broker accepts the command."""
    await create_topics(config, 2)
    tokens, topic, outputs = config.topics.tokens, config.topics.events, output_topics(config)
    async with make_admin(config.kafka) as admin:
        assert await until_available(lambda: narrow_times(admin, tokens, outputs), 30) == []
        longer = {"message.timestamp.after.max.ms": str(2 * 3_600_000)}
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, tokens, longer)])

        async def told(count: int) -> list[str] | None:
            found = await narrow_times(admin, tokens, outputs)
            return found if len(found) == count else None

        sentences = await until(lambda: told(len(outputs)), "the input takes more")
        assert sentences[0].startswith(f"topic {topic}: its message.timestamp.after.max.ms is 3600000, so ")
        said = sentences[0].partition(" --add-config ")[2].rstrip("`")
        settings = dict(setting.split("=") for setting in said.split(","))
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, settings)])
        rest = await until(lambda: told(len(outputs) - 1), "the output takes all")
        assert rest == sentences[1:]


@pytest.mark.parametrize(
    ("kept", "named"),
    [("3599999", True), ("0", True), ("3600000", False), ("-1", False), (None, False)],
)
def test_an_input_that_keeps_less_than_an_open_message_is_named(kept: str | None, named: bool) -> None:
    """With the command that keeps twice as much, as the how-to has it; -1 is for ever."""
    sentences = short("tokens", {RETENTION: kept}, 3600)
    assert [sentence.rpartition(" ")[2] for sentence in sentences] == [f"{RETENTION}=7200000`"] * named
    assert short("tokens", {}, 3600) == []


@pytest.mark.integration
async def test_an_input_is_asked_how_long_it_keeps_records(config: Config) -> None:
    """The command is one that the broker obeys."""
    await create_topics(config, 2)
    topic = config.topics.tokens
    async with make_admin(config.kafka) as admin:
        assert await until_available(lambda: short_retention(admin, topic, 86_400), 30) == []
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {RETENTION: "3600000"})])

        (sentence,) = await until(lambda: short_retention(admin, topic, 86_400), "the input keeps less")
        assert sentence.startswith(f"topic {topic}: its retention.ms is 3600000, less than worker.max_age_s (86400 s)")
        key, _, value = sentence.partition(" --add-config ")[2].rstrip("`").partition("=")
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {key: value})])

        async def silent() -> bool:
            return await short_retention(admin, topic, 86_400) == []

        assert await until(silent, "the input keeps more")


@pytest.mark.integration
async def test_what_the_broker_leaves_out_is_right(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some brokers report less of a topic than they are asked for."""
    await create_topics(config, 2)

    async def nothing(_: AIOKafkaAdminClient, asked: Mapping[str, Iterable[str]]) -> dict[str, dict[str, str]]:
        return {topic: {} for topic in asked}

    monkeypatch.setattr(topic_checks, "settings_of", nothing)
    async with make_admin(config.kafka) as admin:
        assert await stamped_anew(admin, [config.topics.events]) == []
        assert await cleanup_policy(admin, config.topics.events) == ""


def test_a_topic_that_is_missing_is_unavailable() -> None:
    """It may still come; too few partitions are no reason not to start."""
    config = Config()
    counts = dict.fromkeys(all_topics(config), 4)
    check_topics(config, counts | {"events": 3})
    del counts["tokens.dlq"]
    with pytest.raises(Unavailable, match=r"no topic tokens\.dlq"):
        check_topics(config, counts)
