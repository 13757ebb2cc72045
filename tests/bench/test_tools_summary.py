"""What the benchmark of tools found, for people."""

from tokenmill.bench.tools import Report, Side
from tokenmill.bench.tools_summary import tools_summary


def test_both_sides_are_told_beside_the_budget() -> None:
    """Medians of the rounds, and what the budget asks for."""
    direct, runner = [Side(0.4, 1.0, 3, 6), Side(0.6, 1.0, 5, 8)], [Side(1.1, 1.0, 9, 20), Side(1.4, 1.0, 11, 30)]
    summary = tools_summary(Report(2_500, direct, runner))
    (table,) = summary.tables
    assert table.rows == [
        ("the SDK", "0.50", "1.00", "1.50", "4.00", "7.00"),
        ("a runner", "1.25", "1.00", "2.25", "10.00", "25.00"),
    ]
    assert [str(finding) for finding in summary.findings] == [
        "a runner's call costs 1.50 times the processor time of the SDK's (budget: at most 2)",
        "2,500 calls in each of 2 rounds, 167 a second",
    ]
