"""Outputs have the times of their input, so their topics must take all that the input takes, whenever it is published.

Brokers refuse what is too far from their own clock, each topic by its own settings. What is refused once is refused at
each start again, so a worker says it as soon as it can.
"""

from collections.abc import Iterable, Mapping

from tokenmill.kafka import altering

TIMESTAMPS = "message.timestamp.type"
"""Setting of a topic: whether its records keep the time that their producer gave them."""

APPENDED = "LogAppendTime"
"""They do not: they have the broker's."""

AFTER = "message.timestamp.after.max.ms"
"""Setting of a topic: how far ahead of the broker's clock a record may be."""

BEFORE = "message.timestamp.before.max.ms"
"""Likewise behind it."""

EVER = 2**63 - 1
"""No record is that far."""


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


def _limit(said: Mapping[str, str | None], key: str, otherwise: int) -> int:
    """A limit in milliseconds; what a broker keeps to itself is no number."""
    value = said.get(key) or ""
    return int(value) if value.isdecimal() else otherwise


def taking_all(topic: str) -> str:
    """The command that lets a topic take records of any time."""
    return altering(topic, f"{AFTER}={EVER},{BEFORE}={EVER}")
