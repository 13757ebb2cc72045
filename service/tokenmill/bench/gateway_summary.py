"""The results of the gateway's benchmark, for people."""

from collections.abc import Iterator, Sequence
from statistics import median

from tokenmill.bench.gateway_report import Compared, Report, Side, Wait
from tokenmill.bench.summary import Finding, Summary, Table
from tokenmill.limits import KIB

ABOUT = """\
A gateway on a real Kafka, with `flush_ms = 0`, and a bare server of the same library, which writes the same bytes from
memory, to the same number of clients in the same rhythm. Each frame is a native event of some 160 bytes. Rates are per
processor: frames over the processor time of the serving process. For the gateway that includes reading the topic. Times
are from a record's timestamp until a client has the frame; all processes share the machine.

Waits are measured for one client after another, with a worker: until the first event of an answer that a client comes
back to, until all of an answer that a client joins late, from a stop to the last event. One gateway ran while the
answers were written, the other started later and reads the log. A request after an answer's end shows the cost of
asking alone."""


def gateway_summary(report: Report) -> Summary:
    """Return the tables and findings."""
    columns = ("load", "gateway, frames/s of a core", "bare server", "ratio", "p50 ms", "p99 ms", "bare p99 ms")
    rows = [_row(compared) for compared in report.compared]
    command = "tokenmill bench gateway --write"
    tables = [Table(columns, rows), _waits(report.waits)]
    return Summary("What a client of the gateway costs", command, ABOUT, tables, list(_findings(report)))


def _waits(waits: Sequence[Wait]) -> Table:
    columns = ("how long somebody waits", "p50 ms", "p99 ms", "budget, p99 ms", "answer, kB")
    return Table(columns, [_wait(wait) for wait in waits])


def _wait(wait: Wait) -> tuple[str, ...]:
    budget = f"{wait.budget_ms:.0f}" if wait.budget_ms else ""
    return wait.name, f"{wait.p50_ms:.1f}", f"{wait.p99_ms:.1f}", budget, f"{wait.size / 1_000:.0f}"


def _row(compared: Compared) -> tuple[str, ...]:
    ours, bare = compared.gateway, compared.bare
    return (
        compared.load.name,
        f"{_rate(ours):,.0f}",
        f"{_rate(bare):,.0f}",
        f"{compared.ratio:.2f}",
        f"{median(side.p50_ms for side in ours):.1f}",
        f"{median(side.p99_ms for side in ours):.1f}",
        f"{median(side.p99_ms for side in bare):.1f}",
    )


def _rate(sides: list[Side]) -> float:
    return median(side.frames_per_core for side in sides)


def _findings(report: Report) -> Iterator[Finding]:
    for compared in report.compared:
        rate, budget = _rate(compared.gateway), compared.load.budget
        told = f"{compared.load.name}: {rate:,.0f} frames/s of a core, {compared.ratio:.2f} of the bare server"
        yield Finding(told, f"at least {budget:,}" if budget else "at least 0.5 of it")
    idle = report.idle
    yield Finding(f"{idle.bytes_each / KIB:.1f} KiB for each of {idle.connections:,} idle connections", "at most 16")
    yield Finding(f"{idle.core_share * 100:.1f} % of a core for their heartbeats", "at most 3")
    beside = report.beside
    yield Finding(
        f"beside {beside.stalled:,} clients that never read, of which {beside.closed:,} were closed meanwhile, "
        f"{beside.readers} that do have a frame after {beside.crowded.p99_ms:.1f} ms (p99), alone after "
        f"{beside.alone.p99_ms:.1f} ms",
        "as alone",
    )
    yield Finding(f"{beside.bytes_each / KIB:.0f} KiB for each client that never reads", "at most 512")
    yield Finding(
        f"a reader of the topic has a record after {report.follower_p50_ms:.1f} ms (p50) and "
        f"{report.follower_p99_ms:.1f} ms (p99), under the load of the first row"
    )
