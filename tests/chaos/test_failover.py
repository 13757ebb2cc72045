"""A broker of three is lost: events are back soon after a plain client is, and none is lost, wrong or told twice."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.failover import BUDGET_S, PARTITIONS, Noted, Recovery, recovered, run


def test_what_was_sent_before_a_fault_says_nothing_of_the_time_after() -> None:
    """The first that counts of each partition does, however late the others come."""
    seen = [(0, 9.0, 12.0), (0, 10.5, 13.0), (0, 10.6, 14.0), (1, 9.9, 30.0), (2, 11.0, 11.5)]
    assert recovered(seen, since=10.0) == {0: 3.0, 2: 1.5}


def test_what_the_plain_client_notes_is_read_on(tmp_path: Path) -> None:
    """Each line once; one that is not whole yet is left for the next look."""
    noted = Noted(tmp_path / "plain.jsonl")
    assert noted.seen == []
    for written, seen in (("[0, 1, 2]\n[1, ", 1), ("3, 4]\n", 2), ("[2, 5, 6]\n", 3)):
        with noted.path.open("a") as file:
            file.write(written)
        assert len(noted.seen) == len(noted.seen) == seen
    assert noted.seen == [(0, 1, 2), (1, 3, 4), (2, 5, 6)]


def _recovery(**values: Any) -> Recovery:
    found = {"plain": {0: 0.1, 1: 12.0}, "events": {0: 11.0, 1: 15.0}, "ended": [], "wrong": []}
    return Recovery(delivery="exactly-once", fault="freeze", **{**found, **values})


def test_a_row_says_what_both_needed() -> None:
    """And who ended of it."""
    assert _recovery().row() == (
        "exactly-once, freeze: back after 0.1 to 12.0 s for a plain client, 11.0 to 15.0 s for events; "
        "ended: none; wrong: none"
    )


@pytest.mark.parametrize(
    ("values", "later", "passed"),
    [
        ({}, 3.0, True),
        ({"events": {0: 22.5, 1: 15.0}}, 10.5, False),
        ({"events": {0: 11.0, 1: 22.5}}, 10.5, False),
        ({"plain": {0: 0.1, 1: 2.0}, "events": {0: 11.0, 1: 19.5}}, 10.5, False),
        ({"wrong": ["events/0"]}, 3.0, False),
    ],
)
def test_the_last_partition_may_not_be_much_later_than_the_plain_clients(
    values: dict[str, Any], later: float, passed: bool
) -> None:
    """Nor than the cluster, where the plain client does not need the broker that is lost."""
    assert (_recovery(**values).later, _recovery(**values).passed) == (later, passed)


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.timeout(900)  # every wait has its own deadline
@pytest.mark.parametrize(("delivery", "fault"), [("exactly-once", "coordinator")])
async def test_events_are_back_soon_after_a_plain_client(
    tmp_path: Path, record_property: Callable[[str, object], None], delivery: str, fault: str
) -> None:
    """The broker that keeps the group hangs: that is the one that all workers need. All faults: `make chaos`.

    A busy machine may take a second more than there is, once; nothing may be wrong either time.
    """
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # the suite's own clients complain of every outage
    recovery = await run(delivery, fault, tmp_path)
    if recovery.later > BUDGET_S and not recovery.wrong:
        again = tmp_path / "again"
        again.mkdir()
        recovery = await run(delivery, fault, again)
    record_property("report", recovery.row())
    assert len(recovery.plain) == len(recovery.events) == PARTITIONS
    assert recovery.passed, recovery
