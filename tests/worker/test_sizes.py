"""The cap of output records follows what the topics take."""

import msgspec
import pytest

from tokenmill.errors import FatalError
from tokenmill.limits import Limits
from tokenmill.session import SessionSettings
from tokenmill.worker.sizes import fitting_limits

SETTINGS = SessionSettings()


def test_topics_that_take_enough_change_nothing() -> None:
    """Nor does a broker that does not say."""
    assert fitting_limits(SETTINGS, {"events": Limits().output_bytes, "dlq": 8 << 20}) == SETTINGS
    assert fitting_limits(SETTINGS, {}) == SETTINGS


def test_the_smallest_topic_lowers_the_cap() -> None:
    """And with it the fingerprint, because other records come out."""
    fitted = fitting_limits(SETTINGS, {"events": 500_000, "dlq": 700_000})
    assert fitted.limits == msgspec.structs.replace(Limits(), output_bytes=500_000)
    assert fitted.fingerprint() != SETTINGS.fingerprint()


def test_a_topic_that_takes_no_call_is_refused_by_name() -> None:
    """A call must fit one record; splitting it is not possible."""
    with pytest.raises(FatalError, match=r"topic events takes records of 200000 bytes"):
        fitting_limits(SETTINGS, {"events": 200_000})
