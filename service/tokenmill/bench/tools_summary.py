"""The results of the benchmark of tools, for people."""

from collections.abc import Iterator, Sequence
from statistics import median

from tokenmill.bench.summary import Finding, Summary, Table
from tokenmill.bench.tools import A_SECOND, Report, Side

ABOUT = """\
A tool that does nothing, on a server that is a program, is called ten thousand times a minute: by a program with the
protocol's SDK, and by `tokenmill tools run`, which reads each call from a topic of a real Kafka, claims it in a
transaction, and publishes its result in another. Times are from requesting a call until its result can be read; all
processes share the machine. Rows are medians of all rounds, and the ratio is the median of their ratios."""


def tools_summary(report: Report) -> Summary:
    """Return the tables and findings."""
    columns = ("who calls", "caller, ms of a core", "server, ms of a core", "both", "p50 ms", "p99 ms")
    rows = [_row("the SDK", report.direct), _row("a runner", report.runner)]
    command = "tokenmill bench tools --write"
    return Summary("What a call of a tool costs", command, ABOUT, [Table(columns, rows)], list(_findings(report)))


def _row(name: str, sides: Sequence[Side]) -> tuple[str, ...]:
    figures = [
        [side.caller_ms for side in sides],
        [side.server_ms for side in sides],
        [side.cost_ms for side in sides],
        [side.p50_ms for side in sides],
        [side.p99_ms for side in sides],
    ]
    return name, *(f"{median(each):.2f}" for each in figures)


def _findings(report: Report) -> Iterator[Finding]:
    yield Finding(f"a runner's call costs {report.ratio:.2f} times the processor time of the SDK's", "at most 2")
    yield Finding(f"{report.calls:,} calls in each of {len(report.runner)} rounds, {A_SECOND:.0f} a second")
