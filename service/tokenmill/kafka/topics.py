"""Topics: which there are, making them, and how they are set."""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import (
    IncompatibleBrokerVersion,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
    for_code,
)

from tokenmill.config import Config, Kafka
from tokenmill.dialects import find_dialect
from tokenmill.errors import FatalError, Unavailable
from tokenmill.kafka.aiokafka_inside import controller, makes_no_topics, network
from tokenmill.kafka.calls import deadline, until_available
from tokenmill.kafka.clients import make_admin
from tokenmill.limits import KIB

log = logging.getLogger(__name__)

CONTROLLER_S = 30.0
"""Seconds to wait for a controller: a cluster that starts, or loses its own, elects one long before."""

MIN_SEGMENT_MS = 60_000
"""Shortest time of a segment, which is a few files: one a minute is enough."""

KEPT_MS = 7 * 86_400_000
"""Milliseconds that `tool-state` keeps what became of a call: far longer than anybody asks."""

ASKED_MS = 86_400_000
"""Milliseconds that `requests` keeps what was asked: longer than any answer takes. It has prompts in it."""

SPARE = 64 * KIB
"""Bytes that a topic is made to take beyond its longest record."""

LONGEST_BATCH = "max.message.bytes"
"""Setting of a topic: bytes of its longest batch, and so of its longest record."""

USUAL_BATCH = 1_048_588
"""Bytes of a topic's longest batch where none is set: Kafka's default."""

FEWER = 3
"""Looks in a row that have to find fewer partitions: a broker that lags behind has not heard of new ones yet."""

TIMESTAMPS = "message.timestamp.type"
"""Setting of a topic: whether its records keep the time that their producer gave them."""

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

Outcome: TypeAlias = Literal["created", "grown", "unchanged"]


class TopicChange(NamedTuple):
    """What `create_topics` did, and how many partitions the topic has now."""

    topic: str
    outcome: Outcome
    partitions: int
    differs: tuple[str, ...] = ()
    """How a topic that was there differs from what was asked for: its settings are left as they are."""


class FewerPartitions:
    """Notices that a topic is another one: it has fewer partitions than it had."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._looks = 0

    def look(self, count: int, had: int) -> None:
        """Log a broker's number if it is odd. Raises `Unavailable` once it is certain."""
        self._looks = self._looks + 1 if count < had else 0
        if not self._looks:
            return
        said = f"the topic {self._topic!r} has {count} partitions, and had {had}"
        if self._looks == FEWER:
            raise Unavailable(said)
        log.warning("a broker reports what may be outdated, and is asked again: %s", said)


def output_topics(config: Config) -> list[str]:
    """Return the topics that the worker writes to, the dead-letter topic included."""
    topics = config.topics
    answers = [topic for topic in (topics.completions, topics.sessions) if topic]
    return [topics.events, topics.tool_calls, *answers, *(output.topic for output in config.outputs), topics.dlq]


def all_topics(config: Config) -> list[str]:
    """Return all topics of the configuration. The input is last: when it grows the outputs have grown already."""
    topics = config.topics
    others = topics.requests, topics.tool_results, topics.tool_state, topics.tool_control
    return [*output_topics(config), *others, topics.tokens]


async def create_topics(
    config: Config, partitions: int, replication: int = 1, progress: Progress = lambda *_: None
) -> list[TopicChange]:
    """Make all topics with this many partitions. Can be repeated; a topic never gets fewer than it has.

    Raises `Unavailable` when the broker does not answer, `FatalError` when it refuses.
    """
    async with make_admin(config.kafka) as admin:
        present = await _described(admin, all_topics(config))
        if makes_no_topics(admin):  # an embedded broker makes them on first use, with as many partitions as it likes
            return [TopicChange(topic, "unchanged", len(found)) for topic, found in present.items()]
        await until_controlled(admin)
        wanted = {topic: _settings(config, topic) for topic in all_topics(config)}
        settings = await _found_or_unknown(admin, {topic: wanted[topic] for topic in present})
        changes = list[TopicChange]()
        for topic, asked in wanted.items():
            progress(f"topic {topic}", len(changes), len(wanted))
            if topic not in present:
                await _create(admin, topic, partitions, replication, asked)
                changes.append(TopicChange(topic, "created", partitions))
                continue
            has = len(present[topic])
            if has < partitions:
                await _grow(admin, topic, partitions)
            pairs = [
                ("partitions", str(max(has, partitions)), str(partitions)),
                ("copies", _copies(present[topic]), str(replication)),
                *((key, there, asked[key]) for key, there in settings.get(topic, {}).items()),
            ]
            differs = tuple(f"{what}: {there}, not {value}" for what, there, value in pairs if there != value)
            outcome: Outcome = "grown" if has < partitions else "unchanged"
            changes.append(TopicChange(topic, outcome, max(has, partitions), differs))
        return changes


async def until_controlled(admin: AIOKafkaAdminClient) -> None:
    """Wait until the cluster has a controller: it has none while it starts or elects another one.

    Raises `Unavailable`.
    """
    await until_available(lambda: _controlled(admin), CONTROLLER_S)


async def _controlled(admin: AIOKafkaAdminClient) -> None:
    if controller(admin) is None:
        await deadline(network(admin).force_metadata_update(), "look for the controller")
    if controller(admin) is None:
        raise Unavailable("the cluster has no controller yet, which it needs to make topics")


def _copies(partitions: Iterable[Mapping[str, Any]]) -> str:
    """Return how many copies of each partition there are."""
    return " or ".join(map(str, sorted({len(each["replicas"]) for each in partitions})))


async def _found_or_unknown(
    admin: AIOKafkaAdminClient, asked: Mapping[str, Iterable[str]]
) -> dict[str, dict[str, str]]:
    """Return these settings of topics; empty where the broker does not report them, or not to this user."""
    try:
        return await settings_of(admin, asked)
    except Unavailable as problem:
        log.warning("the broker does not report how topics are set (%s), so differences can't be shown", problem)
        return {}


async def find_topic(kafka: Kafka, topic: str) -> None:
    """Raise `Unavailable` if the topic is not there, as a client would wait for it; `FatalError` if it may be, and this
    user has no right to it.
    """
    async with make_admin(kafka) as admin:
        for found in await deadline(admin.describe_topics([topic]), "describe topics"):
            if found["error_code"] == TopicAuthorizationFailedError.errno:
                raise FatalError(f"Kafka: this user has no right to the topic {topic}: SECURITY.md lists what it needs")
            if not found["partitions"]:
                raise Unavailable(f"Kafka: no topic {topic}: `tokenmill topics create` makes it")


async def partition_counts(admin: AIOKafkaAdminClient, topics: Iterable[str]) -> dict[str, int]:
    """Return how many partitions each of these topics has; those that do not exist are left out."""
    return {topic: len(partitions) for topic, partitions in (await _described(admin, topics)).items()}


async def _described(admin: AIOKafkaAdminClient, topics: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the partitions of each of these topics; those that do not exist are left out."""
    described = await deadline(admin.describe_topics(list(topics)), "describe topics")
    return {topic["topic"]: topic["partitions"] for topic in described if topic["partitions"]}


def longest_batches(settings: Mapping[str, Mapping[str, str]]) -> dict[str, int]:
    """Return the longest batch that each topic takes, in bytes; topics of which it is not reported are left out."""
    return {topic: int(said[LONGEST_BATCH]) for topic, said in settings.items() if LONGEST_BATCH in said}


async def accepted_bytes(admin: AIOKafkaAdminClient, topics: Collection[str]) -> dict[str, int]:
    """Return the longest batch that each topic takes: Kafka's default where the broker does not report it."""
    accepted = dict.fromkeys(topics, USUAL_BATCH)
    for topic in topics:  # each alone: one that is missing, or not this user's, says nothing about the others
        try:
            accepted |= longest_batches(await settings_of(admin, {topic: (LONGEST_BATCH,)}))
        except Unavailable as problem:
            log.warning("%s; records of up to %d bytes are written to it", problem, USUAL_BATCH)
    return accepted


async def settings_of(admin: AIOKafkaAdminClient, asked: Mapping[str, Iterable[str]]) -> dict[str, dict[str, str]]:
    """Return the settings of each topic that are asked for, by their keys; empty if the broker lacks the request."""
    resources = [ConfigResource(ConfigResourceType.TOPIC, name, dict.fromkeys(keys)) for name, keys in asked.items()]
    try:
        responses = await deadline(admin.describe_configs(resources), "describe topics' settings")
    except Unavailable as problem:
        if isinstance(problem.__cause__, IncompatibleBrokerVersion):  # as of the embedded one
            return {}
        raise
    found: dict[str, dict[str, str]] = {}
    for response in responses:
        for code, message, _, name, entries in response.resources:
            if code:
                raise Unavailable(f"Kafka: settings of topic {name}: {message or for_code(code).__name__}")
            found[name] = {key: value for key, value, *_ in entries if key in asked[name]}
    return found


def _settings(config: Config, topic: str) -> dict[str, str]:
    """Return a topic's settings. It takes its longest record; only sessions and `tool-state` are compacted."""
    if topic == config.topics.tokens:
        longest = config.limits.record_bytes + SPARE
        return {"cleanup.policy": "delete", "max.message.bytes": str(longest)}
    if topic == config.topics.requests:
        longest = config.front.body_kib * KIB + SPARE
        return {"cleanup.policy": "delete", "max.message.bytes": str(longest), **_kept(ASKED_MS)}
    if topic == config.topics.tool_state:  # a call, and what became of it
        longest = 2 * config.limits.output_bytes + SPARE
        return {"cleanup.policy": "compact,delete", "max.message.bytes": str(longest), **_kept(KEPT_MS)}
    policy = "compact" if topic == config.topics.sessions else "delete"
    longest = config.limits.output_bytes + SPARE
    settings = {"cleanup.policy": policy, "max.message.bytes": str(longest), TIMESTAMPS: "CreateTime"}
    return settings | _retention(config, topic)


def _retention(config: Config, topic: str) -> dict[str, str]:
    """Return how long an output's topic keeps a record, where that is configured or its dialect shows answers live."""
    for output in config.outputs:
        keep_s = output.retention_s or find_dialect(output.dialect).keep_s
        if output.topic == topic and keep_s:
            return _kept(keep_s * 1000)
    return {}


def _kept(keep_ms: int) -> dict[str, str]:
    """Return the settings that keep a record for this many milliseconds, and at most a quarter longer.

    Only whole segments are deleted, none while it is written to, and by default that may be a week.
    """
    return {"retention.ms": str(keep_ms), "segment.ms": str(max(MIN_SEGMENT_MS, keep_ms // 4))}


async def _create(
    admin: AIOKafkaAdminClient, topic: str, partitions: int, replication: int, settings: dict[str, str]
) -> None:
    new = NewTopic(topic, partitions, replication, topic_configs=settings)
    response = await deadline(admin.create_topics([new]), f"create topic {topic}")
    _refused(response.topic_errors, f"create topic {topic}")


async def _grow(admin: AIOKafkaAdminClient, topic: str, partitions: int) -> None:
    response = await deadline(
        admin.create_partitions({topic: NewPartitions(total_count=partitions)}), f"add partitions to {topic}"
    )
    _refused(response.topic_errors, f"add partitions to {topic}")


def _refused(errors: Iterable[Any], what: str) -> None:
    for _, code, *detail in errors:
        error = for_code(code)
        if code and error is not TopicAlreadyExistsError:  # somebody else was faster
            raise FatalError(f"Kafka: {what}: {error.__name__} {' '.join(str(part) for part in detail if part)}")


def altering(topic: str, settings: str) -> str:
    """Return the command that gives a topic these settings, `key=value`, with commas between."""
    options = f"--entity-type topics --entity-name {topic} --add-config {settings}"
    return f"`kafka-configs --bootstrap-server … --alter {options}`"
