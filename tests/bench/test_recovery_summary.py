"""What the recovery benchmark found, for people."""

from tokenmill.bench.recovery import Recovery, Replayed
from tokenmill.bench.recovery_summary import recovery_summary

REPORT = Recovery(4, 200_000, 151.2, [60_000.0, 70_000.0], 300_000, [Replayed(10.0, 25.0), Replayed(20.0, 50.0)])


def test_both_ways_are_told_beside_their_budgets() -> None:
    """Each round, and what the budget asks for."""
    summary = recovery_summary(REPORT)
    (table,) = summary.tables
    assert table.rows[0] == ("open messages a second, from Redis", "60,000", "70,000")
    assert table.rows[2] == ("records a second, silently", "25", "50")
    assert [str(finding) for finding in summary.findings[:3]] == [
        "65,000 open messages a second from Redis (budget: at least 100,000)",
        "151 bytes of snapshot for each (budget: at most 512)",
        "38 records a second by a silent replay, 2.5 times the live rate (budget: at least 200,000, or 4 times)",
    ]
