"""A leader that stalled wakes up at a takeover: what is committed is not taken for another log's (design 4.13)."""

import os
from pathlib import Path

import pytest

from tests.chaos.stale_leader import Outcome, one_round
from tests.support.kafka_cluster import KafkaCluster
from tokenmill.worker.engine import DELIVERIES

TRIES = int(os.environ.get("TOKENMILL_STALE_LEADER", "3"))
"""With each delivery."""

MOST = 5
"""Times as many tries, where nothing was tried in those."""

AT_ONCE = 5
"""Of them with one freeze, at most."""


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.timeout(900 + 180 * (1 + TRIES // AT_ONCE))
async def test_nothing_is_published_again_when_a_stale_leader_wakes_up(tmp_path: Path, redis_url: str) -> None:
    """Three brokers, both deliveries: the outputs are the oracle's, each once, in every try.

    Where the group moves the partition by itself before the takeover, the heir knows the new leader, and nothing is
    tried: there are more tries until one of them is.
    """
    outcomes: list[Outcome] = []
    with KafkaCluster(tmp_path / "kafka") as cluster:
        numbers = range(0)
        while numbers.stop < TRIES or (numbers.stop < MOST * TRIES and not any(each.unaware for each in outcomes)):
            numbers = range(numbers.stop, min(numbers.stop + AT_ONCE, max(TRIES, numbers.stop + 1)))
            names = [(f"try-{number}-{delivery}", delivery) for delivery in DELIVERIES for number in numbers]
            found = await one_round(cluster, tmp_path, redis_url, names)
            print(*found, sep="\n", flush=True)  # noqa: T201 -- who waits for many wants to see it go on
            outcomes += found
    assert [outcome for outcome in outcomes if not outcome.same] == []
    assert any(outcome.unaware for outcome in outcomes)
