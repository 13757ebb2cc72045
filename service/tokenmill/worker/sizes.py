"""One cap below what every output topic takes: an oversize record would poison the producer (design 4.10)."""

import logging
from collections.abc import Mapping

import msgspec

from tokenmill.config.relations import ENVELOPE_BYTES, ESCAPED
from tokenmill.errors import FatalError
from tokenmill.session import SessionSettings

log = logging.getLogger(__name__)


def fitting_limits(settings: SessionSettings, largest: Mapping[str, int]) -> SessionSettings:
    """Settings whose outputs fit every topic. `largest` says how many bytes a record of each may have.

    Raises `FatalError` if a call or a delta could not be published whole then.
    """
    if not largest:
        return settings
    topic, room = min(largest.items(), key=lambda item: item[1])
    limits = settings.limits
    if room >= limits.output_bytes:
        return settings
    if room < max(limits.call_chars, limits.delta_chars * ESCAPED) + ENVELOPE_BYTES:
        raise FatalError(
            f"topic {topic} takes records of {room} bytes, too short for limits.call_chars or limits.delta_chars: "
            f"raise its max.message.bytes or lower those limits"
        )
    log.warning(
        "limits.output_bytes is lowered from %d to %d: topic %s takes no more", limits.output_bytes, room, topic
    )
    return msgspec.structs.replace(settings, limits=msgspec.structs.replace(limits, output_bytes=room))
