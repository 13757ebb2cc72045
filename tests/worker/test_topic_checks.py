"""What is required of topics: that they exist, and that outputs take all that the input takes."""

import re
from collections.abc import Mapping

import pytest
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.support.stage import until
from tests.support.topics import unmade
from tokenmill.config import Config
from tokenmill.errors import FatalError, Unavailable
from tokenmill.kafka.clients import make_admin
from tokenmill.kafka.topics import TIMESTAMPS, all_topics, create_topics, output_topics, settings_of
from tokenmill.worker.topic_checks import (
    AFTER,
    APPENDED,
    BEFORE,
    CHECKED,
    CLEANUP,
    EVER,
    RETENTION,
    Settings,
    check_topics,
    refuse_compacted,
    taking_all,
    topic_warnings,
)

HOUR = 3_600_000

DAY = 24 * HOUR


def _warnings(tokens: Mapping[str, str | None], events: Mapping[str, str | None]) -> list[str]:
    """What is wrong with these settings of two topics; of the others nothing is reported."""
    return topic_warnings(Config(), {"tokens": tokens, "events": events})


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
    sentences = _warnings(tokens, events)
    assert [sentence.split(" is ")[0] for sentence in sentences] == [f"topic events: its {key}" for key in named]
    assert all(sentence.endswith(taking_all("events")) for sentence in sentences)


@pytest.mark.parametrize(("kind", "named"), [(APPENDED, True), ("CreateTime", False), (None, False)])
def test_outputs_with_the_brokers_times_are_named(kind: str | None, named: bool) -> None:
    """The input may have them."""
    sentences = _warnings({TIMESTAMPS: APPENDED}, {TIMESTAMPS: kind})
    start = "topic events: its message.timestamp.type is LogAppendTime, so "
    assert [sentence.startswith(start) for sentence in sentences] == [True] * named
    assert all(sentence.endswith("--add-config message.timestamp.type=CreateTime`") for sentence in sentences)


@pytest.mark.parametrize(
    ("kept", "named"),
    [(str(DAY - 1), True), ("0", True), (str(DAY), False), ("-1", False), (None, False)],
)
def test_an_input_that_keeps_less_than_an_open_message_is_named(kept: str | None, named: bool) -> None:
    """With the command that keeps twice as much, as the how-to has it; -1 is for ever."""
    sentences = _warnings({RETENTION: kept}, {RETENTION: "0"})
    assert [sentence.rpartition(" ")[2] for sentence in sentences] == [f"{RETENTION}={2 * DAY}`"] * named
    start = f"topic tokens: its retention.ms is {kept}, less than worker.max_age_s (86400 s)"
    assert all(sentence.startswith(start) for sentence in sentences)


@pytest.mark.parametrize(
    ("policy", "refused"),
    [("delete", False), ("", False), (None, False), ("compact", True), ("compact,delete", True)],
)
def test_a_compacted_input_is_refused(policy: str | None, refused: bool) -> None:
    """With the command that corrects it."""
    settings: Settings = {"tokens": {CLEANUP: policy}, "events": {CLEANUP: "compact"}}
    if not refused:
        refuse_compacted("tokens", settings)
        return
    with pytest.raises(FatalError, match=f"its cleanup.policy is {policy}, .*--add-config cleanup.policy=delete`"):
        refuse_compacted("tokens", settings)


def test_a_broker_that_reports_no_settings_is_named() -> None:
    """With what nobody has checked then; a worker starts all the same."""
    refuse_compacted("tokens", {})
    (sentence,) = topic_warnings(Config(), {})
    assert sentence.startswith("the broker does not report how topics are set: tokens must not be compacted")


@pytest.mark.integration
async def test_the_broker_obeys_the_commands(kafka: str, unique: str) -> None:
    """Topics are made so that nothing is wrong with them; after changes, the commands of all warnings correct it."""
    config = unmade(kafka, unique)
    await create_topics(config, 2)
    tokens, events, *_ = topics = [config.topics.tokens, *output_topics(config)]
    async with make_admin(config.kafka) as admin:

        async def alter(topic: str, settings: dict[str, str]) -> None:
            await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, settings)])

        async def told(count: int) -> list[str] | None:
            try:
                found = topic_warnings(config, await settings_of(admin, dict.fromkeys(topics, CHECKED)))
            except Unavailable:  # it has not heard of all topics yet
                return None
            return [*found, ""] if len(found) == count else None

        await until(lambda: told(0), "nothing is wrong")
        await alter(tokens, {AFTER: str(2 * HOUR), RETENTION: str(HOUR)})
        await alter(events, {TIMESTAMPS: APPENDED})
        sentences = await until(lambda: told(len(topics) + 1), "all of it is wrong")
        commands = re.findall(r"--entity-name (\S+) --add-config (\S+)`", " ".join(sentences))
        merged = {topic: dict[str, str]() for topic in topics} | {tokens: {AFTER: str(2 * HOUR)}}
        for topic, said in commands:
            merged[topic].update(setting.split("=") for setting in said.split(","))
        for topic, settings in merged.items():
            await alter(topic, settings)  # which replaces all that were set
        await until(lambda: told(0), "all of it is right")


def test_a_topic_that_is_missing_is_unavailable() -> None:
    """It may still come; too few partitions are no reason not to start."""
    config = Config()
    counts = dict.fromkeys(all_topics(config), 4)
    check_topics(config, counts | {"events": 3})
    del counts["tokens.dlq"]
    with pytest.raises(Unavailable, match=r"no topic tokens\.dlq"):
        check_topics(config, counts)
