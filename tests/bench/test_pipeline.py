"""The benchmark of a whole worker: that it measures what it says, on a small load."""

import pytest

from tokenmill.bench.load import Load, Shape
from tokenmill.bench.pipeline import SIDES, Pipeline, Run, run_pipeline


def test_medians_are_compared() -> None:
    """One disturbed run does not decide."""
    runs = {
        "pass-through": [Run(100.0, 0.5, None), Run(10.0, 1.0, None), Run(200.0, 1.0, None)],
        "worker": [Run(50.0, 1.0, None), Run(60.0, None, None), Run(1.0, 1.0, None)],
    }
    report = Pipeline(Load(1), Shape(1.0, 1.0), 4, 100, runs)
    assert (report.rate("pass-through"), report.rate("worker"), report.ratio) == (100.0, 50.0, 0.5)
    assert report.processor_us("pass-through") == 5_000.0


def test_processor_times_may_be_unknown() -> None:
    """Not every system tells them."""
    assert Run(50.0, None, None).processor_us is None
    assert Pipeline(Load(1), Shape(1.0, 1.0), 4, 100, {"worker": [Run(1.0, None, None)]}).processor_us("worker") is None


@pytest.mark.integration
def test_both_sides_get_through_a_small_load(kafka: str) -> None:
    """They take turns, and each run says how fast it was."""
    said: list[str] = []
    report = run_pipeline(bootstrap=kafka, records=200_000, rounds=1, progress=said.append)
    assert [len(report.runs[side]) for side in SIDES] == [1, 1]
    assert all(run.records_per_s > 0 for runs in report.runs.values() for run in runs)
    assert [sentence.split(",")[0] for sentence in said] == ["putting 200", *SIDES]
