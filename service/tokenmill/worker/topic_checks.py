"""What a worker asks of its topics at its start: all are there, the input keeps its records, outputs take any time.

Outputs have the times of their input, so their topics must take all that the input takes, whenever it is published.
Brokers refuse what is too far from their own clock, each topic by its own settings. What is refused once is refused at
each start again, so a worker says it as soon as it can.
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
"""Setting of a topic: what becomes of records that are old."""

APPENDED = "LogAppendTime"
"""Value of `TIMESTAMPS`: records have the broker's time, not that of their producer."""

AFTER = "message.timestamp.after.max.ms"
"""Setting of a topic: how far ahead of the broker's clock a record may be."""

BEFORE = "message.timestamp.before.max.ms"
"""Likewise behind it."""

EVER = 2**63 - 1
"""No record is that far."""

RETENTION = "retention.ms"
"""Setting of a topic: how long it keeps a record; a negative value means for ever."""


def narrow(tokens: str, outputs: Iterable[str], settings: Mapping[str, Mapping[str, str | None]]) -> list[str]:
    """What is wrong with outputs that refuse what the input takes; what the broker does not say of a topic is right.

    Of records that are old all must be taken: between the two there may be an outage, or offsets are moved back.
    """
    said_of_tokens = settings.get(tokens, {})
    ahead = 0 if said_of_tokens.get(TIMESTAMPS) == APPENDED else _limit(said_of_tokens, AFTER, 0)
    needed = {AFTER: ahead, BEFORE: EVER}
    return [
        f"topic {topic}: its {key} is {said[key]}, so it may refuse what is published of {tokens}, whose times it has; "
        f"then no worker goes on: {taking_all(topic)}"
        for topic in outputs
        for said in [settings.get(topic, {})]
        for key, least in needed.items()
        if _limit(said, key, EVER) < least
    ]


def short(tokens: str, said: Mapping[str, str | None], max_age_s: float) -> list[str]:
    """What is wrong with an input that drops records while their messages may still be open."""
    if _limit(said, RETENTION, EVER) >= max_age_s * 1000:
        return []
    longer = altering(tokens, f"{RETENTION}={int(2 * max_age_s * 1000)}")
    what = f"topic {tokens}: its {RETENTION} is {said[RETENTION]}, less than worker.max_age_s ({max_age_s:g} s)"
    return [f"{what}: a message that is open for longer loses its beginning, and ends as lost after a replay: {longer}"]


def _limit(said: Mapping[str, str | None], key: str, otherwise: int) -> int:
    """A limit in milliseconds; what a broker keeps to itself is no number."""
    value = said.get(key) or ""
    return int(value) if value.isdecimal() else otherwise


def taking_all(topic: str) -> str:
    """The command that lets a topic take records of any time."""
    return altering(topic, f"{AFTER}={EVER},{BEFORE}={EVER}")


def check_topics(config: Config, counts: Mapping[str, int]) -> None:
    """Raise `Unavailable` if a topic is missing; it may still come. One that is too small holds some partitions up."""
    missing = [topic for topic in (config.topics.tokens, *output_topics(config)) if topic not in counts]
    if missing:
        raise Unavailable(f"no topic {', '.join(missing)}: `tokenmill topics create` makes them")


async def stamped_anew(admin: AIOKafkaAdminClient, topics: Iterable[str]) -> list[str]:
    """What is wrong with the topics whose records get the broker's time. Nothing if the broker won't say."""
    found = await _said(admin, dict.fromkeys(topics, (TIMESTAMPS,)))
    return [
        f"topic {topic}: its {TIMESTAMPS} is {kind}, so its records do not have the times of their input: when an "
        f"offset is set by hand, what was published can't be told well: {altering(topic, f'{TIMESTAMPS}=CreateTime')}"
        for topic, said in found.items()
        if (kind := said.get(TIMESTAMPS)) == APPENDED
    ]


async def narrow_times(admin: AIOKafkaAdminClient, tokens: str, outputs: Collection[str]) -> list[str]:
    """What is wrong with the outputs that take fewer times than the input. Nothing if the broker won't say."""
    return narrow(tokens, outputs, await _said(admin, dict.fromkeys([tokens, *outputs], (TIMESTAMPS, AFTER, BEFORE))))


async def short_retention(admin: AIOKafkaAdminClient, tokens: str, max_age_s: float) -> list[str]:
    """What is wrong with an input that keeps records for less than `max_age_s`. Nothing if the broker won't say."""
    return short(tokens, (await _said(admin, {tokens: (RETENTION,)})).get(tokens, {}), max_age_s)


async def _said(admin: AIOKafkaAdminClient, asked: Mapping[str, Iterable[str]]) -> dict[str, dict[str, str]]:
    """These settings of topics; empty where the broker has no word for them."""
    try:
        return await settings_of(admin, asked)
    except Unavailable as problem:
        if not isinstance(problem.__cause__, IncompatibleBrokerVersion):
            raise
        return {}


async def cleanup_policy(admin: AIOKafkaAdminClient, topic: str) -> str:
    """That of a topic. Empty if the broker won't say."""
    try:
        return (await settings_of(admin, {topic: (CLEANUP,)})).get(topic, {}).get(CLEANUP, "")
    except Unavailable as problem:
        if not isinstance(problem.__cause__, IncompatibleBrokerVersion):
            raise
        log.warning("the broker does not say whether topics are compacted (%s); %s must not be", problem, topic)
        return ""


def refuse_compacted(topic: str, policy: str) -> None:
    """Raise `FatalError` if a topic of the input loses records that are not old: messages would lack chunks."""
    if policy not in ("", "delete"):
        raise FatalError(
            f"topic {topic}: its cleanup.policy is {policy}, which drops all but the last record of a conversation: "
            f"{altering(topic, 'cleanup.policy=delete')}; what was dropped does not come back"
        )
