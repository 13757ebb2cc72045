"""The benchmark of a whole worker: that it measures what it says, on a small load."""

import msgspec
import pytest

from tokenmill.bench import latency
from tokenmill.bench.latency import Latency
from tokenmill.bench.load import Load, Shape
from tokenmill.bench.pipeline import Pipeline, run_pipeline
from tokenmill.bench.throughput import Run
from tokenmill.bench.workbench import AT_LEAST_ONCE, EXACTLY_ONCE, PASS_THROUGH, RE_ENCODING, SIDES


def report(runs: dict[str, list[Run]]) -> Pipeline:
    """A report of these runs; sides that are not named have none."""
    return Pipeline(Load(1), Shape(1.0, 1.0), 4, {side: runs.get(side, []) for side in SIDES}, {})


def rates(*records_per_s: float) -> list[Run]:
    return [Run(rate, None, None) for rate in records_per_s]


def test_what_is_slow_in_one_round_is_so_for_all() -> None:
    """Ratios are taken within a round, and of them the median."""
    results = report(
        {PASS_THROUGH: rates(100, 10, 200), AT_LEAST_ONCE: rates(60, 7, 100), EXACTLY_ONCE: rates(54, 3.5, 95)}
    )
    assert (results.worker_share, results.exactly_once_share) == (0.6, 0.9)
    assert results.rate(PASS_THROUGH) == 100


def test_processor_times_may_be_unknown() -> None:
    """Not every system tells them; of those that are known the median counts."""
    known = [Run(100.0, 0.5, None), Run(10.0, 1.0, None), Run(200.0, 1.0, None)]
    results = report({PASS_THROUGH: known, AT_LEAST_ONCE: rates(1)})
    assert results.processor_us(PASS_THROUGH) == 5_000.0
    assert results.processor_us(AT_LEAST_ONCE) is None
    assert results.effort(AT_LEAST_ONCE, PASS_THROUGH) is None
    assert results.effort(PASS_THROUGH, PASS_THROUGH) == 1.0


def test_latencies_are_compared_where_they_were_measured() -> None:
    """At-least-once as a multiple of the pass-through, exactly-once by what it adds."""
    assert (report({}).latency_ratio, report({}).added_ms) == (None, None)
    p99 = {PASS_THROUGH: (10.0, 100.0, 20.0), AT_LEAST_ONCE: (15.0, 120.0, 30.0), EXACTLY_ONCE: (95.0, 200.0, 90.0)}
    latencies = {side: [Latency(1.0, 1.0, each) for each in runs] for side, runs in p99.items()}
    measured = msgspec.structs.replace(report({}), latencies=latencies)
    assert (measured.latency_ratio, measured.added_ms) == (1.5, 65.0)


@pytest.mark.integration
@pytest.mark.slow
def test_all_sides_get_through_a_small_load(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take turns, and each run says how fast it was; then how long a record took at half of that."""
    monkeypatch.setattr(latency, "WARM_UP_S", 0.5)
    monkeypatch.setattr(latency, "MEASURED_S", 1.5)
    said: list[str] = []
    results = run_pipeline(bootstrap=kafka, records=400_000, rounds=1, latency=True, progress=said.append)
    for runs in results.runs.values():
        assert [run.records_per_s > 0 for run in runs] == [True]
    for side in SIDES:
        assert [0 < run.p50_ms <= run.p99_ms for run in results.latencies[side]] == [True]
    assert [sentence.split(",")[0] for sentence in said] == ["putting 400", *SIDES, RE_ENCODING, *SIDES]
