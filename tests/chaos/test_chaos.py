"""Faults of every kind on a service at work, for `SECONDS` with each delivery; `make chaos` goes on as long as asked.

The report is printed behind the tests whether or not it is a pass, and stays in `build`.
"""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.plan import KINDS
from tests.chaos.run import Options, run
from tests.structure.tree import CHECKOUT
from tokenmill.worker.engine import DELIVERIES

SECONDS = 90
"""Of faults, with each delivery: every kind at least once."""

SEED = 2

RATE = 150
"""Chunks a second: each conversation has its turn every two seconds, and is open for a minute."""

LIVE = 300


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.timeout(3600)  # every wait has its own deadline; a busy machine may need many of them
@pytest.mark.parametrize("delivery", sorted(DELIVERIES))
async def test_whatever_happens_what_comes_out_is_what_the_oracle_says(
    tmp_path: Path, record_property: Callable[[str, object], None], delivery: str
) -> None:
    """Workers killed, frozen, restarted and reconfigured, Redis and the broker with them: I1 to I12 hold."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # the suite's own clients complain of every outage
    report = await run(Options(delivery, SEED, SECONDS, RATE), tmp_path)
    record_property("report", report.markdown())
    (CHECKOUT / "build").mkdir(exist_ok=True)
    report.write(CHECKOUT / "build" / f"chaos-{delivery}.json")
    assert report.problems == []
    assert report.wrong == {}
    assert set(report.faults) == set(KINDS)
    assert report.seconds >= SECONDS
    assert report.fewest_live >= LIVE
