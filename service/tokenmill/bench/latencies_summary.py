"""The results of the benchmark of latencies, for people."""

from collections.abc import Iterator

from tokenmill.bench.latencies import Latencies
from tokenmill.bench.summary import Finding, Summary, Table
from tokenmill.bench.workbench import (
    AT_LEAST_ONCE,
    COMMIT_INTERVAL_MS,
    EXACTLY_ONCE,
    IN_TRANSACTIONS,
    PASS_THROUGH,
    RE_ENCODING,
)

ABOUT = f"""\
From an input record's timestamp until a reader of committed records (`isolation.level=read_committed`) has its output,
at steady rates, on a real Kafka with snapshots to a real Redis. Alongside a worker with each kind of delivery runs a
*pass-through*: aiokafka consumes and publishes one record of the mean event size for each input. *Re-encoding* does the
same with the contract's JSON and headers, and the *pass-through in transactions* has one transactional producer for
each partition: they parse nothing, and are the floors of a worker with each kind of delivery. Each is a separate
process; they run in turns, on separate topics. Figures are medians of the rounds.

The pass-through and at-least-once publish immediately and commit every {COMMIT_INTERVAL_MS} ms. With exactly-once a
record waits for the transaction before it, and for its own: five requests one after another, and the broker's
markers."""

P50_MS, P99_MS = 20, 60
"""Budget of exactly-once, up to `SLOW` records a second."""

SLOW = 1_000

FAST_P99_MS = 150
"""Budget of exactly-once above `SLOW`."""

TIMES = 1.5
"""Budget of at-least-once, as a multiple of the pass-through's p99."""


def latencies_summary(report: Latencies) -> Summary:
    """Return the tables and findings."""
    rates = list(report.runs[PASS_THROUGH])
    columns = ["ms from publish to reader, p50 / p99", *(f"{rate:,}/s" for rate in rates)]
    rows = [(side, *(_cell(report, side, rate) for rate in rates)) for side in report.runs]
    command = "tokenmill bench latency --write"
    return Summary("How long a reader waits", command, ABOUT, [Table(columns, rows)], list(_findings(report)))


def _cell(report: Latencies, side: str, rate: int) -> str:
    return f"{report.p50_ms(side, rate):.0f} / {report.p99_ms(side, rate):.0f}"


def _findings(report: Latencies) -> Iterator[Finding]:
    for rate in report.runs[EXACTLY_ONCE]:
        told = f"{EXACTLY_ONCE} at {rate:,} records a second: {_cell(report, EXACTLY_ONCE, rate)} ms"
        yield Finding(told, f"at most {P50_MS} / {P99_MS}" if rate <= SLOW else f"p99 at most {FAST_P99_MS}")
        yield from _floor(report, IN_TRANSACTIONS, rate)
    for rate in report.runs[AT_LEAST_ONCE]:
        times = report.p99_ms(AT_LEAST_ONCE, rate) / report.p99_ms(PASS_THROUGH, rate)
        told = f"{AT_LEAST_ONCE} at {rate:,} records a second: {times:.2f} times the pass-through's p99"
        yield Finding(told, f"at most {TIMES}")
        yield from _floor(report, RE_ENCODING, rate)
    rounds = len(next(iter(report.runs[PASS_THROUGH].values())))
    yield Finding(f"{report.partitions} partitions, one worker; medians of {rounds} rounds")
    if report.before:
        yield Finding(f"*before* is commit {report.before}, in the same rounds")


def _floor(report: Latencies, side: str, rate: int) -> Iterator[Finding]:
    """Yield the time below which no worker with that delivery can be."""
    if side in report.runs:
        yield Finding(f"the floor of that, {side}: {_cell(report, side, rate)} ms")
