"""What the benchmark of several workers found, for people."""

from tokenmill.bench.scale import Cell, Cost, Run, Scale, name_of
from tokenmill.bench.scale_summary import scale_summary

CELLS = (Cell(4, 1), Cell(4, 2), Cell(4, 2, tokens=16))
RATES = (45_000.0, 60_000.0, 30_000.0)
COSTS = (Cost(20.0, 8.0, 2.0), Cost(22.0, 8.0, 2.0), Cost(33.0, 9.0, 2.0))
REPORT = Scale(
    2,
    {name_of(cell): [Run(rate, cost)] for cell, rate, cost in zip(CELLS, RATES, COSTS, strict=True)},
    {"leaves": 0.84, "comes back": 1.26},
    CELLS,
)


def test_what_was_measured_stands_beside_what_was_foretold() -> None:
    """With what a record costs workers, broker and Redis."""
    (table,) = scale_summary(REPORT).tables
    one, two, several = table.rows
    assert one == ("4 partitions, 1 worker", "45,000", "50,000", "0.90", "20.0", "8.0", "2.0")
    assert two[:4] == ("4 partitions, 2 workers", "60,000", "66,667", "0.90")
    assert several[1:4] == ("30,000", "44,444", "0.67")


def test_what_follows_of_it_is_said() -> None:
    """How far the model is off, what more workers give, what more tokens cost, what a rebalance costs."""
    told = [str(finding) for finding in scale_summary(REPORT).findings]
    assert told[0] == "the model is off by 33% at most, with 4 partitions, 2 workers, 16 tokens in a record"
    assert told[1:3] == [
        "4 partitions, 2 workers: 1.33 times as many records a second as with one",
        "a record of 16 tokens costs workers 1.50 times what one of one token does",
    ]
    assert told[3:] == [
        "`tokenmill capacity` takes a record to cost a worker 11 µs, and each further token in it 1 µs",
        "when one of 2 workers leaves, a record waits 0.8 s at most (32 partitions, 1,000 records a second)",
        "when one of 2 workers comes back, a record waits 1.3 s at most (32 partitions, 1,000 records a second)",
        "2 cores; medians of 1 rounds",
    ]
