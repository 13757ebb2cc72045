"""Several workers on one Kafka: that it measures what it says, on a small load."""

import pytest

from tokenmill.bench import scale
from tokenmill.bench.scale import Cell, Cost, Run, Scale, foretell, name_of, run_scale
from tokenmill.capacity import RECORD_US, Load, need

CELLS = (Cell(4, 1), Cell(8, 2))


@pytest.mark.parametrize(
    ("workers", "cores", "rate"),
    [(1, 8, 50_000), (2, 8, 100_000), (2, 2, 66_667), (9, 2, 66_667), (1, 1, 33_333)],
    ids=["one core each", "twice", "the machine is full", "and stays full", "with one core for all"],
)
def test_workers_add_up_until_the_machine_is_full(workers: int, cores: int, rate: int) -> None:
    """Workers of 20 µs a record, beside a broker and a Redis of 10 µs."""
    assert foretell(Cost(20.0, 8.0, 2.0), workers, cores) == pytest.approx(rate, abs=1)


def test_further_tokens_in_a_record_cost_a_worker_what_capacity_takes() -> None:
    """16 tokens are 15 µs more for a worker, and so for the machine."""
    assert foretell(Cost(20.0, 8.0, 2.0), 2, 8, tokens=16) == pytest.approx(1e6 * 2 / 35)
    assert foretell(Cost(20.0, 8.0, 2.0), 2, 2, tokens=16) == pytest.approx(1e6 * 2 / 45)
    load = Load(conversations=1_000_000, tokens_per_s=16, tokens_per_record=16)
    assert need(load).worker_cores == pytest.approx(1e6 / foretell(Cost(RECORD_US, 0, 0), 1, 1, tokens=16))


def test_the_first_cell_foretells_the_others() -> None:
    """By medians of its rounds."""
    runs = [Run(rate, Cost(cost, 8.0, 2.0)) for rate, cost in ((10.0, 30.0), (40.0, 20.0), (50.0, 10.0))]
    report = Scale(8, {name_of(CELLS[0]): runs, name_of(CELLS[1]): [Run(1.0, Cost(99.0, 1.0, 1.0))]}, {}, CELLS)
    assert (report.rate(CELLS[0]), report.cost(CELLS[0])) == (40.0, Cost(20.0, 8.0, 2.0))
    assert [report.foretold(cell) for cell in CELLS] == [50_000.0, 100_000.0]


def test_cells_have_names() -> None:
    """One of each."""
    assert [name_of(cell) for cell in (*CELLS, Cell(8, 2, tokens=16))] == [
        "4 partitions, 1 worker",
        "8 partitions, 2 workers",
        "8 partitions, 2 workers, 16 tokens in a record",
    ]


@pytest.mark.integration
@pytest.mark.slow
def test_workers_get_through_a_small_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Side by side, and while one leaves and comes back."""
    for name, amount in {"STEADY_S": 1.0, "MOVES_S": 5.0, "MOVES_RATE": 200.0, "MOVES_PARTITIONS": 8}.items():
        monkeypatch.setattr(scale, name, amount)
    said: list[str] = []
    report = run_scale(cells=CELLS[1:], records=300_000, rounds=1, progress=said.append)
    (run,) = report.runs[name_of(CELLS[1])]
    assert run.records_per_s > 0
    assert min(run.cost.workers, run.cost.broker) > 0
    assert {what: 0 < seconds < 60 for what, seconds in report.waits.items()} == {"leaves": True, "comes back": True}
    assert [sentence.split(",")[0] for sentence in said[-2:]] == ["8 partitions", "a worker has left and come back"]
