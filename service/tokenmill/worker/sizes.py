"""One cap below what every output topic takes: an oversize record would poison the producer (design 4.10)."""

import logging
from collections.abc import Mapping

import msgspec

from tokenmill.config.relations import ENVELOPE_BYTES, ESCAPED
from tokenmill.errors import FatalError
from tokenmill.kafka.clients import BATCH_BYTES
from tokenmill.kafka.topics import SPARE, altering
from tokenmill.limits import KIB, Limits
from tokenmill.partition import PartitionSettings
from tokenmill.partition.cloud_events import CLOUD_EVENT_BYTES

log = logging.getLogger(__name__)

RECORD_OVERHEAD = 1 * KIB
"""Bytes that a batch of one record needs beside key, value and headers: 61 of the batch, and some lengths."""


def fitting_limits(settings: PartitionSettings, largest: Mapping[str, int]) -> PartitionSettings:
    """Return settings whose outputs fit every topic. `largest` is the `max.message.bytes` of each.

    Raises `FatalError` if a call or a delta could not be published whole then.
    """
    if not largest:
        return settings
    taken = {spec.topic: CLOUD_EVENT_BYTES for spec in settings.outputs if spec.cloudevents}
    topic = min(largest, key=lambda name: largest[name] - taken.get(name, 0))
    limits, allowed, overhead = settings.limits, largest[topic], RECORD_OVERHEAD + taken.get(topic, 0)
    room = allowed - overhead
    if room >= limits.output_bytes:
        return settings
    least = max(limits.call_chars, limits.delta_chars * ESCAPED) + ENVELOPE_BYTES + overhead
    if allowed < least:
        raise FatalError(
            f"topic {topic}: its max.message.bytes is {allowed}, and limits.call_chars and limits.delta_chars need at "
            f"least {least}: lower those limits, or raise it with {raising(topic, limits)}"
        )
    log.warning(
        "limits.output_bytes is lowered from %d to %d: topic %s takes no more, its max.message.bytes is %d; %s raises "
        "it",
        *(limits.output_bytes, room, topic, allowed, raising(topic, limits)),
    )
    return msgspec.structs.replace(settings, limits=msgspec.structs.replace(limits, output_bytes=room))


def raising(topic: str, limits: Limits) -> str:
    """Return the command that lets a topic take what the limits allow."""
    return altering(topic, f"max.message.bytes={limits.output_bytes + SPARE}")


def batch_bytes(settings: PartitionSettings) -> int:
    """Return the bytes of the largest record batch for outputs: one record may take all of a topic's limit."""
    return min(BATCH_BYTES, settings.limits.output_bytes)
