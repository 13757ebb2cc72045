"""What the benchmark of latencies found, for people."""

from tokenmill.bench.latencies import Latencies
from tokenmill.bench.latencies_summary import latencies_summary
from tokenmill.bench.latency import Latency
from tokenmill.bench.workbench import AT_LEAST_ONCE, BEFORE, EXACTLY_ONCE, IN_TRANSACTIONS, PASS_THROUGH, RE_ENCODING


def runs(p50: float, p99: float) -> dict[int, list[Latency]]:
    """Of one side, at two rates; the second of three rounds is the median."""
    return {rate: [Latency(rate, p50 + more, p99 + more) for more in (0, 1, 9)] for rate in (50, 15_000)}


REPORT = Latencies(8, {PASS_THROUGH: runs(3, 9), AT_LEAST_ONCE: runs(4, 11), EXACTLY_ONCE: runs(14, 49)})


def test_each_side_has_its_medians_at_each_rate() -> None:
    """As the issue of a slow reader is read: p50 and p99 together."""
    (table,) = latencies_summary(REPORT).tables
    assert list(table.columns)[1:] == ["50/s", "15,000/s"]
    assert list(table.rows)[1:] == [(AT_LEAST_ONCE, "5 / 12", "5 / 12"), (EXACTLY_ONCE, "15 / 50", "15 / 50")]


def test_budgets_stand_beside_what_was_found() -> None:
    """Exactly-once in milliseconds, at-least-once in multiples of the pass-through."""
    told = [str(finding) for finding in latencies_summary(REPORT).findings]
    assert told == [
        "exactly-once at 50 records a second: 15 / 50 ms (budget: at most 20 / 60)",
        "exactly-once at 15,000 records a second: 15 / 50 ms (budget: p99 at most 150)",
        "at-least-once at 50 records a second: 1.20 times the pass-through's p99 (budget: at most 1.5)",
        "at-least-once at 15,000 records a second: 1.20 times the pass-through's p99 (budget: at most 1.5)",
        "8 partitions, one worker; medians of 3 rounds",
    ]


def test_floors_stand_behind_what_they_are_the_floor_of() -> None:
    """A client in transactions for exactly-once, JSON in Python for at-least-once."""
    floors = {RE_ENCODING: runs(3, 10), IN_TRANSACTIONS: runs(12, 40)}
    told = [str(finding) for finding in latencies_summary(Latencies(8, REPORT.runs | floors)).findings]
    assert told[1] == told[3] == "the floor of that, pass-through in transactions: 13 / 41 ms"
    assert told[5] == told[7] == "the floor of that, re-encoding: 4 / 11 ms"


def test_the_code_before_stands_in_the_same_table() -> None:
    """Named by its commit."""
    before = dict.fromkeys(BEFORE, runs(38, 65))
    summary = latencies_summary(Latencies(8, REPORT.runs | before, before="1234567"))
    assert summary.tables[0].rows[-1] == ("exactly-once, before", "39 / 66", "39 / 66")
    assert str(summary.findings[-1]) == "*before* is commit 1234567, in the same rounds"
