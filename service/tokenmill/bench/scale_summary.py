"""The results of the benchmark of several workers, for people."""

from collections.abc import Iterator

from tokenmill.bench.scale import MOVES_PARTITIONS, MOVES_RATE, MOVES_WORKERS, Scale, name_of
from tokenmill.bench.summary import Finding, Summary, Table
from tokenmill.capacity import RECORD_US, TOKEN_US

ABOUT = """\
Workers with at-least-once delivery on one real Kafka and one real Redis, all on one machine: *cells* of a number of
partitions and workers, up to what the machine carries. All workers have their partitions before the load arrives, and
begin at the same time; each run is timed by the group's committed offsets, from the first tenth of the records on.

The *model* is one line: each worker uses one core, until workers, broker and Redis use all cores. The cost of a record
to each of them is taken from the first cell; each further token in a record costs a worker {token_us:g} µs more.
`tokenmill capacity` calculates the cores of workers in the same way.

Then a worker leaves gracefully, and comes back, while records keep coming at a steady rate. The longest wait of a
record is the cost of that, joining and restoring included."""


def scale_summary(report: Scale) -> Summary:
    """Return the tables and findings."""
    columns = (
        *("cell", "records a second", "by the model", "measured by model"),
        *("workers, µs a record", "broker, µs", "Redis, µs"),
    )
    rows = []
    for cell in report.cells:
        rate, foretold, cost = report.rate(cell), report.foretold(cell), report.cost(cell)
        figures = f"{rate:,.0f}", f"{foretold:,.0f}", f"{rate / foretold:.2f}"
        rows.append((name_of(cell), *figures, *(f"{part:.1f}" for part in (cost.workers, cost.broker, cost.redis))))
    command = "tokenmill bench scale --write"
    return Summary(
        "Several workers", command, ABOUT.format(token_us=TOKEN_US), [Table(columns, rows)], list(_findings(report))
    )


def _findings(report: Scale) -> Iterator[Finding]:
    plain = [cell for cell in report.cells if cell.tokens == 1]
    off = max(report.cells, key=lambda cell: abs(report.rate(cell) / report.foretold(cell) - 1))
    share = report.rate(off) / report.foretold(off)
    yield Finding(f"the model is off by {abs(share - 1):.0%} at most, with {name_of(off)}")
    for cell in plain:
        one = next((each for each in plain if (each.partitions, each.workers) == (cell.partitions, 1)), None)
        if one is not None and cell.workers > 1:
            times = report.rate(cell) / report.rate(one)
            yield Finding(f"{name_of(cell)}: {times:.2f} times as many records a second as with one")
    for cell in report.cells:
        if cell.tokens > 1:
            alike = next(each for each in plain if (each.partitions, each.workers) == (cell.partitions, cell.workers))
            times = report.cost(cell).workers / report.cost(alike).workers
            yield Finding(
                f"a record of {cell.tokens} tokens costs workers {times:.2f} times what one of one token does"
            )
    yield Finding(
        f"`tokenmill capacity` takes a record to cost a worker {RECORD_US:g} µs, and each further token in it "
        f"{TOKEN_US:g} µs"
    )
    for what, seconds in report.waits.items():
        yield Finding(
            f"when one of {MOVES_WORKERS} workers {what}, a record waits {seconds:.1f} s at most "
            f"({MOVES_PARTITIONS} partitions, {MOVES_RATE:,.0f} records a second)"
        )
    rounds = len(next(iter(report.runs.values())))
    yield Finding(f"{report.cores} cores; medians of {rounds} rounds")
