"""Ends of partitions below what is committed: doubted for a while, then believed."""

import pytest
from aiokafka import TopicPartition

from tokenmill.errors import Unavailable
from tokenmill.kafka.believed_ends import BELIEF_S, FORGOTTEN_S, BelievedEnds

SHORT, OTHER = TopicPartition("requests", 0), TopicPartition("requests", 1)


def test_an_end_below_what_is_committed_is_doubted_for_a_while() -> None:
    """Each partition has its own time, which runs from the first look, and starts again after a good end."""
    now = 1.0
    ends = BelievedEnds(lambda: now)
    ends.believe({SHORT: (5, 5)})
    with pytest.raises(Unavailable, match="requests/0 ends at 3, below what is committed, 5"):
        ends.believe({SHORT: (3, 5)})
    now += BELIEF_S
    with pytest.raises(Unavailable, match="requests/1 ends at 0"):
        ends.believe({SHORT: (3, 5), OTHER: (0, 1)})
    ends.believe({SHORT: (3, 5), OTHER: (1, 1)})
    ends.believe({SHORT: (5, 5)})
    with pytest.raises(Unavailable):
        ends.believe({SHORT: (3, 5)})


def test_a_doubt_is_forgotten_when_nobody_looks() -> None:
    """The partition may have been another process's since: each time a leader may be out of date anew."""
    now = 1.0
    ends = BelievedEnds(lambda: now)
    for _ in range(2):
        with pytest.raises(Unavailable):
            ends.believe({SHORT: (3, 5)})
        now += FORGOTTEN_S
