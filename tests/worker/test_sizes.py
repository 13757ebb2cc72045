"""The cap of output records follows what the topics take."""

import msgspec
import pytest

from tokenmill.errors import FatalError
from tokenmill.limits import KIB, Limits
from tokenmill.partition import OutputSpec, PartitionSettings
from tokenmill.partition.cloud_events import CLOUD_EVENT_BYTES
from tokenmill.worker.sizes import RECORD_OVERHEAD, fitting_limits

SETTINGS = PartitionSettings()


def test_topics_that_take_enough_change_nothing() -> None:
    """Nor does a broker that does not report its limits."""
    assert fitting_limits(SETTINGS, {"events": Limits().output_bytes + RECORD_OVERHEAD, "dlq": 8 << 20}) == SETTINGS
    assert fitting_limits(SETTINGS, {}) == SETTINGS


def test_the_smallest_topic_lowers_the_cap() -> None:
    """And not the fingerprint: open messages continue as they are."""
    conformed = fitting_limits(SETTINGS, {"events": 500_000 + RECORD_OVERHEAD, "dlq": 700_000})
    assert conformed.limits == msgspec.structs.replace(Limits(), output_bytes=500_000)
    assert conformed.fingerprint() == SETTINGS.fingerprint()


def test_a_topic_that_takes_no_call_is_refused_by_name() -> None:
    """A call must fit one record; splitting it is not possible. The error names the least, and the command."""
    least = 64 * KIB * 6 + 8 * KIB + RECORD_OVERHEAD
    fitting_limits(SETTINGS, {"events": least})
    for allowed in (0, 200, least - 1):
        with pytest.raises(FatalError) as refusal:
            fitting_limits(SETTINGS, {"dlq": least, "events": allowed})
        said = str(refusal.value)
        assert said.startswith(f"topic events: its max.message.bytes is {allowed}, and limits.call_chars and")
        assert f"need at least {least}: lower those limits" in said
        assert "--alter --entity-type topics --entity-name events --add-config max.message.bytes=1065536`" in said


def test_what_cloud_events_say_of_themselves_has_room_too() -> None:
    """In the topics that have them; the others may be smaller by that much."""
    outputs = (OutputSpec("events"), OutputSpec("bus", cloudevents="structured"))
    settings = msgspec.structs.replace(SETTINGS, outputs=outputs)
    enough = Limits().output_bytes + RECORD_OVERHEAD
    assert fitting_limits(settings, {"events": enough, "bus": enough + CLOUD_EVENT_BYTES}) == settings
    conformed = fitting_limits(settings, {"events": enough, "bus": enough})
    assert conformed.limits.output_bytes == Limits().output_bytes - CLOUD_EVENT_BYTES
