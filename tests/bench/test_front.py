"""The front's benchmark: a small run of all of it, on a Kafka and a Redis of its own."""

import pytest

from tokenmill.bench.front import run_front_bench
from tokenmill.bench.front_report import Load

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_a_small_run_measures_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every token comes on both, or the run fails; of each process of the front's way it is known what it took."""
    monkeypatch.setattr("tokenmill.bench.front.LOADS", [Load("five", 5, 10)])
    for name in ("WARM_UP_S", "MEASURED_S"):
        monkeypatch.setattr(f"tokenmill.bench.front.{name}", 1.0)
    told: list[str] = []
    report = run_front_bench(rounds=1, stops=5, flush_ms=0, progress=told.append)
    (compared,) = report.compared
    for side in (*compared.direct, *compared.front):
        assert 0 < side.first_p50_ms <= side.first_p99_ms
        assert 0 < side.token_p50_ms <= side.token_p99_ms
        assert 0 < side.answers_s < side.tokens_s
        assert 0 <= side.in_line < 1
    assert compared.costs().keys() == {"front and caller", "worker", "broker", "model server", "clients"}
    assert compared.added(lambda side: side.token_p50_ms) > 0
    assert (report.stops.count, report.flush_ms) == (5, 0)
    assert 0 < report.stops.p50_ms <= report.stops.p99_ms
    assert told == [
        "five, round 1 of 1: the model server",
        "five, round 1 of 1: the front",
        "5 answers that are cancelled",
    ]
