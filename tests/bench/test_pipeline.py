"""The benchmark of a whole worker: that it measures what it says, on a small load."""

import pytest

from tokenmill.bench import latency
from tokenmill.bench.load import Load, Shape
from tokenmill.bench.pipeline import Pipeline, run_pipeline
from tokenmill.bench.stand import SIDES
from tokenmill.bench.throughput import Run


def report(**runs: list[Run]) -> Pipeline:
    named = {"pass-through": runs.get("reference", []), "worker": runs.get("worker", [])}
    return Pipeline(Load(1), Shape(1.0, 1.0), 4, 100, named, {})


def test_medians_are_compared() -> None:
    """One disturbed run does not decide."""
    reference = [Run(100.0, 0.5, None), Run(10.0, 1.0, None), Run(200.0, 1.0, None)]
    worker = [Run(50.0, 1.0, None), Run(60.0, None, None), Run(1.0, 1.0, None)]
    results = report(reference=reference, worker=worker)
    assert (results.rate("pass-through"), results.rate("worker"), results.ratio) == (100.0, 50.0, 0.5)
    assert results.processor_us("pass-through") == 5_000.0


def test_processor_times_may_be_unknown() -> None:
    """Not every system tells them."""
    assert report(worker=[Run(1.0, None, None)]).processor_us("worker") is None


@pytest.mark.integration
@pytest.mark.slow
def test_both_sides_get_through_a_small_load(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take turns, and each run says how fast it was; then how long a record took at half of that."""
    monkeypatch.setattr(latency, "WARM_UP_S", 0.5)
    monkeypatch.setattr(latency, "MEASURED_S", 1.5)
    said: list[str] = []
    results = run_pipeline(bootstrap=kafka, records=200_000, rounds=1, latency=True, progress=said.append)
    for side in SIDES:
        assert [run.records_per_s > 0 for run in results.runs[side]] == [True]
        assert [0 < run.p50_ms <= run.p99_ms for run in results.latencies[side]] == [True]
    assert [sentence.split(",")[0] for sentence in said] == ["putting 200", *SIDES, *SIDES]
