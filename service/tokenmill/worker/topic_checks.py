"""What a worker requires of its topics at its start: all exist, the input keeps records, outputs take any timestamp.

Outputs have the timestamps of their input, so their topics must take all that the input takes, whenever it is
published. Brokers refuse what is too far from their own clock, by settings of each topic. What is refused once is
refused again after each start, so a worker warns as early as it can.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from tokenmill.config import Config
from tokenmill.errors import FatalError, Unavailable
from tokenmill.kafka.topics import LONGEST_BATCH, TIMESTAMPS, altering, output_topics

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


CHECKED = (CLEANUP, TIMESTAMPS, AFTER, BEFORE, RETENTION, LONGEST_BATCH)
"""Settings of the worker's topics that a start asks for."""

Settings: TypeAlias = Mapping[str, Mapping[str, str | None]]
"""Settings of topics, as far as the broker reports them. One that is not reported is taken to be right."""


def check_topics(config: Config, counts: Mapping[str, int]) -> None:
    """Raise `Unavailable` if a topic is missing; it may still come. One that is too small holds some partitions."""
    missing = [topic for topic in (config.topics.tokens, *output_topics(config)) if topic not in counts]
    if missing:
        raise Unavailable(f"no topic {', '.join(missing)}: `tokenmill topics create` makes them")


def refuse_compacted(topic: str, settings: Settings) -> None:
    """Raise `FatalError` if an input topic is compacted: messages would lack chunks."""
    policy = settings.get(topic, {}).get(CLEANUP) or ""
    if policy not in ("", "delete"):
        raise FatalError(
            f"topic {topic}: its cleanup.policy is {policy}, which drops all but the last record of a conversation: "
            f"{altering(topic, 'cleanup.policy=delete')}; what was dropped does not come back"
        )


def topic_warnings(config: Config, settings: Settings) -> list[str]:
    """Return what is wrong with topics with which a worker can start all the same."""
    tokens, outputs = config.topics.tokens, output_topics(config)
    if not settings:
        unknown = f"{tokens} must not be compacted, and limits.output_bytes must fit all outputs"
        return [f"the broker does not report how topics are set: {unknown}"]
    stamped = _stamped_by_broker(outputs, settings)
    return [*stamped, *_narrow(tokens, outputs, settings), *_short(tokens, settings, config.worker.max_age_s)]


def _stamped_by_broker(outputs: Iterable[str], settings: Settings) -> list[str]:
    """Return what is wrong with outputs whose records get the broker's time."""
    return [
        f"topic {topic}: its {TIMESTAMPS} is {APPENDED}, so its records do not have the times of their input: when an "
        f"offset is set by hand, what was published is found less well: {altering(topic, f'{TIMESTAMPS}=CreateTime')}"
        for topic in outputs
        if settings.get(topic, {}).get(TIMESTAMPS) == APPENDED
    ]


def _narrow(tokens: str, outputs: Iterable[str], settings: Settings) -> list[str]:
    """Return what is wrong with outputs that refuse what the input takes.

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


def _short(tokens: str, settings: Settings, max_age_s: float) -> list[str]:
    """Return what is wrong with an input that drops records while their messages may still be open."""
    said = settings.get(tokens, {})
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
