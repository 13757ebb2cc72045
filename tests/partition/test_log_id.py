"""Which logs are the same."""

import pytest

from tokenmill.partition import UNKNOWN_LOG, LogId

LOG = LogId("cluster", "topic")


@pytest.mark.parametrize(
    ("other", "another"),
    [
        (LOG, False),
        (UNKNOWN_LOG, False),
        (LogId("cluster"), False),
        (LogId("", "topic"), False),
        (LogId("cluster", "topic", 7), False),
        (LogId("cluster", "made anew"), True),
        (LogId("other", "topic"), True),
        (LogId("other"), True),
    ],
)
def test_what_is_known_of_both_must_be_the_same(other: LogId, another: bool) -> None:
    """A field that one of them lacks does not count."""
    assert LOG.is_another(other) is other.is_another(LOG) is another


def test_a_log_that_lost_its_end_is_the_same_and_diverged_from() -> None:
    """Records read after that place may not be in it."""
    assert LOG.diverged_from(LogId("cluster", "topic", 7))
    assert LOG.diverged_from(LogId("cluster", "made anew"))
    assert not LOG.diverged_from(LOG)


def test_people_are_told_the_ids() -> None:
    """As Kafka's tools print them; or that there are none."""
    assert str(LOG) == "topic in cluster"
    assert str(UNKNOWN_LOG) == "a topic without id in a cluster without id"
