"""What the pipeline benchmark found, for people."""

import msgspec

from tests.bench.test_pipeline import report
from tokenmill.bench.latency import Latency
from tokenmill.bench.pipeline_summary import pipeline_summary
from tokenmill.bench.throughput import Run
from tokenmill.bench.workbench import AT_LEAST_ONCE, EXACTLY_ONCE, PASS_THROUGH, RE_ENCODING

REPORT = report(
    {
        PASS_THROUGH: [Run(100_000.0, 0.5, 0.5)],
        AT_LEAST_ONCE: [Run(60_000.0, 0.95, 0.3)],
        EXACTLY_ONCE: [Run(54_000.0, 0.8, None)],
    }
)
P99 = {PASS_THROUGH: 20.0, AT_LEAST_ONCE: 30.0, EXACTLY_ONCE: 100.0}
LATENCIES = {side: [Latency(30_000.0, 5.0, p99)] for side, p99 in P99.items()}


def test_rates_and_what_they_are_limited_by() -> None:
    """Each side with its runs, their median, and what a record takes of a processor."""
    summary = pipeline_summary(REPORT)
    (table,) = summary.tables
    assert next(iter(table.rows)) == (PASS_THROUGH, "100,000", "100,000", "5.0 µs", "unknown")
    told = [str(finding) for finding in summary.findings]
    assert told[:7] == [
        "at-least-once reaches 0.60 of the pass-through (budget: at least 0.75)",
        "exactly-once reaches 0.54 of the pass-through (budget: at least 0.75)",
        "exactly-once reaches 0.90 of at-least-once (budget: at least 0.8)",
        "a record takes 3.17 times the processor time of pass-through with at-least-once",
        "a record takes 0.94 times the processor time of at-least-once with exactly-once",
        "at-least-once: it keeps 0.95 processors busy, the broker 0.30; its one event loop is the limit",
        "exactly-once: it keeps 0.80 processors busy",
    ]


def test_the_floor_and_the_peer_where_they_ran() -> None:
    """How much of the way to the pass-through is Python's, and how many times as fast as the peer a worker is."""
    others = {RE_ENCODING: 80_000.0, "Kafka Streams": 20_000.0, "Kafka Streams, exactly-once": 27_000.0}
    others["at-least-once, before"] = 50_000.0
    runs = REPORT.runs | {side: [Run(rate, None, None)] for side, rate in others.items()}
    summary = pipeline_summary(msgspec.structs.replace(REPORT, runs=runs, before="1234567"))
    assert [row[0] for row in summary.tables[0].rows] == list(runs)
    told = [str(finding) for finding in summary.findings]
    assert told[2].startswith("re-encoding, which parses nothing, reaches 0.80 of the pass-through: ")
    assert told[2].endswith("; at-least-once reaches 0.75 of that")
    assert told[3:8] == [
        "at-least-once is 1.20 times as fast as before (commit 1234567)",
        "at-least-once is 3.0 times as fast as Kafka Streams (budget: at least 2.5)",
        "re-encoding is 4.0 times as fast as Kafka Streams",
        "exactly-once is 2.0 times as fast as Kafka Streams, exactly-once (budget: at least 2.5)",
        "re-encoding is 3.0 times as fast as Kafka Streams, exactly-once",
    ]


def test_latencies_where_they_were_measured() -> None:
    """Beside the budgets: a multiple of the pass-through's, and what a transaction may add."""
    summary = pipeline_summary(msgspec.structs.replace(REPORT, latencies=LATENCIES))
    assert summary.tables[1].rows[1] == (AT_LEAST_ONCE, "5 ms", "30 ms", "30 ms", "unknown")
    told = [str(finding) for finding in summary.findings]
    assert "the p99 of at-least-once is 1.50 times the pass-through's (budget: at most 1.5)" in told
    assert "exactly-once adds 70 ms to its p99 (budget: at most 110 ms)" in told
    assert not any("other processes used the machine" in each for each in told)


def test_figures_of_a_crowded_machine_are_said_to_be() -> None:
    """They tell how long a process waits for its turn; which part of its time is in the table."""
    waited = {side: [msgspec.structs.replace(run, queued=0.5) for run in runs] for side, runs in LATENCIES.items()}
    summary = pipeline_summary(msgspec.structs.replace(REPORT, latencies=waited))
    assert summary.tables[1].rows[0][-1] == "50%"
    assert any("other processes used the machine" in str(finding) for finding in summary.findings)


def test_what_is_unknown_is_said_to_be() -> None:
    """On a system that does not tell processor times."""
    runs = {side: [Run(1.0, None, None)] for side in REPORT.runs}
    summary = pipeline_summary(msgspec.structs.replace(REPORT, runs=runs))
    assert summary.tables[0].rows[0][-2:] == ("unknown", "unknown")
    assert "unknown: this system does not report processor times" in str(summary.findings[3])
