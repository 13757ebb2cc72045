"""What the front's benchmark found, for people."""

from tokenmill.bench.front_report import LOADS, Compared, Report, Side, Stops
from tokenmill.bench.front_summary import front_summary

DIRECT = Side(100, 10_000, 0.4, 1.2, 0.3, 0.7, {"model server": 20, "clients": 10})

FRONT = Side(97.5, 9_800, 10.4, 41.2, 15.3, 25.7, {"front and caller": 60.4, "model server": 21, "clients": 11}, 0.42)


def test_both_ways_are_told_beside_the_budgets() -> None:
    """What is added, the share of the rate, and the processor time; a load without budgets has none."""
    loads = Compared(LOADS[0], [DIRECT], [FRONT]), Compared(LOADS[3], [DIRECT], [FRONT])
    summary = front_summary(Report(list(loads), Stops(100, 20, 130), 25))
    times, costs = summary.tables
    assert times.rows[2:] == [
        ("200 answers at once", "straight", "100.0", "10,000", "0.4", "1.2", "0.3", "0.7"),
        ("200 answers at once", "the front", "97.5", "9,800", "10.4", "41.2", "15.3", "25.7"),
    ]
    assert costs.rows[0] == ("one answer at a time", "60", "21", "11")
    assert [str(finding) for finding in summary.findings][2:] == [
        "one answer at a time: 0.98 of the tokens a second",
        "one answer at a time: 42% of the time the front was ready to work, and others had the processors",
        "200 answers at once: the first token comes 10.0 ms later (p50), 40.0 ms (p99) (budget: at most 15 and 50)",
        "200 answers at once: each token comes 15.0 ms later (p50), 25.0 ms (p99) (budget: at most 30 (p99))",
        "200 answers at once: 0.98 of the tokens a second (budget: at least 0.95)",
        "200 answers at once: 42% of the time the front was ready to work, and others had the processors",
        "the model server is left 20 ms (p50) and 130 ms (p99) after a cancel, of 100 (budget: at most 300 (p99))",
    ]
    assert "`gateway.flush_ms` of the front is 25" in summary.about
