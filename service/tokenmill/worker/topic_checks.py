"""What a worker requires of its topics at its start: all exist, the input keeps records, outputs take any timestamp.

Outputs have the timestamps of their input, so their topics must take all that the input takes, whenever it is
published. Brokers refuse what is too far from their own clock, by settings of each topic. What is refused once is
refused again after each start, so a worker warns as early as it can.
"""

import logging
from collections.abc import Collection, Iterable, Mapping

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import IncompatibleBrokerVersion

from tokenmill.config import Config
from tokenmill.errors import FatalError, Unavailable
from tokenmill.kafka.topics import TIMESTAMPS, altering, output_topics, settings_of

log = logging.getLogger(__name__)

CLEANUP = "cleanup.policy"
"""Setting of a topic: what becomes of old records."""

APPENDED = "LogAppendTime"
"""Value of `TIMESTAMPS`: records have the broker's time, not that of their producer."""

AFTER = "message.timestamp.after.max.ms"
"""Setting of a topic: how far ahead of the broker's clock a record may be."""

BEFORE = "message.timestamp.before.max.ms"
"""Setting of a topic: how far behind the broker's clock a record may be."""

EVER = 2**63 - 1
"""Milliseconds by which no record is off."""

RETENTION = "retention.ms"
"""Setting of a topic: how long it keeps a record; a negative value means for ever."""


def narrow(tokens: str, outputs: Iterable[str], settings: Mapping[str, Mapping[str, str | None]]) -> list[str]:
    """Return what is wrong with outputs that refuse what the input takes; a setting that is not reported is right.

    Old records must all be taken: between input and output there may be an outage, or offsets are moved back.
    """
    said_of_tokens = settings.get(tokens, {})
    ahead = 0 if said_of_tokens.get(TIMESTAMPS) == APPENDED else _limit(said_of_tokens, AFTER, 0)
    needed = {AFTER: ahead, BEFORE: EVER}
    return [
        f"topic {topic}: its {key} is {said[key]}, so it may refuse what is published of {tokens}, whose timestamps "
        f"it has; no worker gets past such a record: {taking_all(topic)}"
        for topic in outputs
        for said in [settings.get(topic, {})]
        for key, least in needed.items()
        if _limit(said, key, EVER) < least
    ]


def short(tokens: str, said: Mapping[str, str | None], max_age_s: float) -> list[str]:
    """Return what is wrong with an input that drops records while their messages may still be open."""
    if _limit(said, RETENTION, EVER) >= max_age_s * 1000:
        return []
    longer = altering(tokens, f"{RETENTION}={int(2 * max_age_s * 1000)}")
    what = f"topic {tokens}: its {RETENTION} is {said[RETENTION]}, less than worker.max_age_s ({max_age_s:g} s)"
    return [f"{what}: a message that is open for longer loses its beginning, and ends as lost after a replay: {longer}"]


def _limit(said: Mapping[str, str | None], key: str, otherwise: int) -> int:
    """Return a limit in milliseconds; `otherwise` where the broker reports no number."""
    value = said.get(key) or ""
    return int(value) if value.isdecimal() else otherwise


def taking_all(topic: str) -> str:
    """Return the command that lets a topic take records of any time."""
    return altering(topic, f"{AFTER}={EVER},{BEFORE}={EVER}")


def check_topics(config: Config, counts: Mapping[str, int]) -> None:
    """Raise `Unavailable` if a topic is missing; it may still come. One that is too small holds some partitions."""
    missing = [topic for topic in (config.topics.tokens, *output_topics(config)) if topic not in counts]
    if missing:
        raise Unavailable(f"no topic {', '.join(missing)}: `tokenmill topics create` makes them")


async def stamped_anew(admin: AIOKafkaAdminClient, topics: Iterable[str]) -> list[str]:
    """Return what is wrong with topics whose records get the broker's time; nothing if it reports no settings."""
    found = await _said(admin, dict.fromkeys(topics, (TIMESTAMPS,)))
    return [
        f"topic {topic}: its {TIMESTAMPS} is {kind}, so its records do not have the times of their input: when an "
        f"offset is set by hand, what was published is found less well: {altering(topic, f'{TIMESTAMPS}=CreateTime')}"
        for topic, said in found.items()
        if (kind := said.get(TIMESTAMPS)) == APPENDED
    ]


async def narrow_times(admin: AIOKafkaAdminClient, tokens: str, outputs: Collection[str]) -> list[str]:
    """Return what is wrong with outputs that take fewer times than the input; nothing if it reports no settings."""
    return narrow(tokens, outputs, await _said(admin, dict.fromkeys([tokens, *outputs], (TIMESTAMPS, AFTER, BEFORE))))


async def short_retention(admin: AIOKafkaAdminClient, tokens: str, max_age_s: float) -> list[str]:
    """Return what is wrong with an input that keeps records for less than `max_age_s`; nothing if it is not known."""
    return short(tokens, (await _said(admin, {tokens: (RETENTION,)})).get(tokens, {}), max_age_s)


async def _said(admin: AIOKafkaAdminClient, asked: Mapping[str, Iterable[str]]) -> dict[str, dict[str, str]]:
    """Return these settings of topics; empty where the broker does not support the request."""
    try:
        return await settings_of(admin, asked)
    except Unavailable as problem:
        if not isinstance(problem.__cause__, IncompatibleBrokerVersion):
            raise
        return {}


async def cleanup_policy(admin: AIOKafkaAdminClient, topic: str) -> str:
    """Return a topic's cleanup policy; empty if the broker does not report it."""
    try:
        return (await settings_of(admin, {topic: (CLEANUP,)})).get(topic, {}).get(CLEANUP, "")
    except Unavailable as problem:
        if not isinstance(problem.__cause__, IncompatibleBrokerVersion):
            raise
        log.warning("the broker does not report whether topics are compacted (%s); %s must not be", problem, topic)
        return ""


def refuse_compacted(topic: str, policy: str) -> None:
    """Raise `FatalError` if an input topic is compacted: messages would lack chunks."""
    if policy not in ("", "delete"):
        raise FatalError(
            f"topic {topic}: its cleanup.policy is {policy}, which drops all but the last record of a conversation: "
            f"{altering(topic, 'cleanup.policy=delete')}; what was dropped does not come back"
        )
