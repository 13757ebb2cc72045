"""The results of the pipeline benchmark, for people."""

from collections.abc import Iterator, Sequence
from statistics import median

from tokenmill.bench.latency import Latency
from tokenmill.bench.pipeline import Pipeline
from tokenmill.bench.summary import Finding, Summary, Table
from tokenmill.bench.throughput import Run
from tokenmill.bench.workbench import (
    AT_LEAST_ONCE,
    BEFORE,
    COMMIT_INTERVAL_MS,
    EXACTLY_ONCE,
    PASS_THROUGH,
    RE_ENCODING,
    SIDES,
    STREAMS,
    TRANSACTION_INTERVAL_MS,
    WORKERS,
)

BUSY = 0.9
"""Share of one processor above which a process is at its limit."""

CROWDED = 0.1
"""Share of its time above which waiting for a processor makes a process late."""

ADDED_MS = TRANSACTION_INTERVAL_MS + 60
"""Milliseconds that exactly-once may add: its interval, and a transaction."""

ABOUT = f"""\
A worker on a real Kafka, with snapshots to a real Redis, compared with a *pass-through*: aiokafka consumes and
publishes one record of the mean event size for each input, in record batches. Each is a separate process with one event
loop. They run in turns; a ratio is the median of the rounds' ratios.

*Re-encoding* is the pass-through with the contract's JSON and headers: each chunk is read into a struct, numbered, and
written as an event, without a parser, a state or a way to recover. It shows how much of the difference is Python's.
*Kafka Streams*, if requested, does the same on one thread, with a state store.

- Throughput: the topic is filled before, and each run is timed by the group's committed offsets, from the first tenth
  of the records on. After each run a reader of committed records counts the outputs.
- Latency: records come at a steady rate, half of what the slowest side reached. Measured from the input record's
  timestamp until a reader of committed records (`isolation.level=read_committed`) has its output, for all sides.

The pass-through and at-least-once commit every {COMMIT_INTERVAL_MS} ms, exactly-once every {TRANSACTION_INTERVAL_MS}
ms while it catches up and otherwise immediately; one transaction is for one partition. *Queueing* is the share of time
in which a side could have worked, but another process had the processor: where it is high, the figures are those of
the queue."""


def pipeline_summary(report: Pipeline) -> Summary:
    """Return the tables and findings."""
    tables = [_rates(report)]
    if report.latencies:
        tables.append(_latencies(report))
    command = "tokenmill bench pipeline --write"
    return Summary("What a worker costs on Kafka", command, ABOUT, tables, list(_findings(report)))


def _rates(report: Pipeline) -> Table:
    rounds = [f"run {number + 1}" for number in range(len(report.runs[PASS_THROUGH]))]
    rows = []
    for side, runs in report.runs.items():
        rates = [*(run.records_per_s for run in runs), report.rate(side)]
        microseconds = report.processor_us(side)
        used = "unknown" if microseconds is None else f"{microseconds:.1f} µs"
        rows.append((side, *(f"{rate:,.0f}" for rate in rates), used, _queued(runs)))
    return Table(("records per second", *rounds, "median", "processor time of one", "queueing"), rows)


def _queued(runs: Sequence[Run | Latency]) -> str:
    known = [run.queued for run in runs if run.queued is not None]
    return f"{median(known):.0%}" if known else "unknown"


def _latencies(report: Pipeline) -> Table:
    rate = report.latencies[PASS_THROUGH][0].records_per_s
    rows = []
    for side in SIDES:
        runs = report.latencies[side]
        figures = median(run.p50_ms for run in runs), report.p99_ms(side), *(run.p99_ms for run in runs)
        rows.append((side, *(f"{figure:.0f} ms" for figure in figures), _queued(runs)))
    rounds = [f"p99, run {number + 1}" for number in range(len(report.latencies[PASS_THROUGH]))]
    return Table((f"from input to output, {rate:,.0f} records per second", "p50", "p99", *rounds, "queueing"), rows)


def _findings(report: Pipeline) -> Iterator[Finding]:
    for side in WORKERS:
        yield Finding(f"{side} reaches {report.share(side, PASS_THROUGH):.2f} of the pass-through", "at least 0.75")
    yield from _beside_others(report)
    yield Finding(f"{EXACTLY_ONCE} reaches {report.exactly_once_share:.2f} of {AT_LEAST_ONCE}", "at least 0.8")
    if report.latency_ratio is not None:
        ratio = f"the p99 of {AT_LEAST_ONCE} is {report.latency_ratio:.2f} times the pass-through's"
        yield Finding(ratio, "at most 1.5")
    if report.added_ms is not None:
        yield Finding(f"{EXACTLY_ONCE} adds {report.added_ms:.0f} ms to its p99", f"at most {ADDED_MS} ms")
    runs = [run for results in (report.runs, report.latencies) for side in SIDES for run in results.get(side, [])]
    if any((run.queued or 0.0) > CROWDED for run in runs):
        yield Finding(
            "other processes used the machine: the processor time of a record says more than rates and latencies"
        )
    yield from map(Finding, _efforts(report))
    yield from (Finding(f"{side}: {_limit(report.runs[side][-1])}") for side in (AT_LEAST_ONCE, EXACTLY_ONCE))
    shape = report.shape
    yield Finding(
        f"{report.load.records:,} records on {report.partitions} partitions, {shape.outputs_per_record:.2f} outputs of "
        f"{shape.mean_output_bytes:.0f} bytes for each"
    )


def _beside_others(report: Pipeline) -> Iterator[Finding]:
    """Compare with the floor, the previous code, and Kafka Streams."""
    if RE_ENCODING in report.runs:
        floor, reached = report.share(RE_ENCODING, PASS_THROUGH), report.share(AT_LEAST_ONCE, RE_ENCODING)
        yield Finding(
            f"{RE_ENCODING}, which parses nothing, reaches {floor:.2f} of the pass-through: no worker in Python with "
            f"this contract can reach more; {AT_LEAST_ONCE} reaches {reached:.2f} of that"
        )
    for old, side in BEFORE.items():
        if old in report.runs:
            yield Finding(f"{side} is {report.share(side, old):.2f} times as fast as before (commit {report.before})")
    for peer, delivery in STREAMS.items():
        if peer in report.runs:
            yield Finding(f"{delivery} is {report.share(delivery, peer):.1f} times as fast as {peer}", "at least 2.5")
            if RE_ENCODING in report.runs:
                yield Finding(f"{RE_ENCODING} is {report.share(RE_ENCODING, peer):.1f} times as fast as {peer}")


def _efforts(report: Pipeline) -> Iterator[str]:
    """Compare processor times, which say more than rates when other processes use the machine, too."""
    for side, of in ((AT_LEAST_ONCE, PASS_THROUGH), (EXACTLY_ONCE, AT_LEAST_ONCE)):
        effort = report.effort(side, of)
        if effort is not None:
            yield f"a record takes {effort:.2f} times the processor time of {of} with {side}"


def _limit(run: Run) -> str:
    if run.processor is None:
        return "its limit is unknown: this system does not report processor times"
    said = f"it keeps {run.processor:.2f} processors busy"
    if run.broker_processor is not None:
        said += f", the broker {run.broker_processor:.2f}"
    return said + ("; its one event loop is the limit" if run.processor > BUSY else "")
