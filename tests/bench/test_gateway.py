"""The gateway's benchmark: a small run of all of it, on a Kafka of its own."""

import pytest

from tokenmill.bench.gateway import run_gateway_bench
from tokenmill.bench.gateway_report import LOADS

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_a_small_run_measures_both_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every frame comes to every client of both, or the run fails; a share of a core was used, and memory."""
    monkeypatch.setattr("tokenmill.bench.gateway.LOADS", [LOADS[2]])
    for name in ("WARM_UP_S", "MEASURED_S", "IDLE_S"):
        monkeypatch.setattr(f"tokenmill.bench.gateway.{name}", 1.0)
    for name in ("TIMES", "STOPS"):
        monkeypatch.setattr(f"tokenmill.bench.gateway_waits.{name}", 5)
    for name, tokens in (("SHORT", 40), ("LONG", 400)):  # `test_gateway_waits` has them as they are
        monkeypatch.setattr(f"tokenmill.bench.gateway_waits.{name}", tokens)
    monkeypatch.setattr("tokenmill.bench.gateway.STALLED", 20)
    report = run_gateway_bench(rounds=1, connections=20, progress=lambda _: None)
    (compared,) = report.compared
    assert compared.ratio > 0
    assert compared.gateway[0].us_per_frame > 0
    assert report.idle.connections == 20
    assert (report.beside.readers, report.beside.stalled) == (100, 20)
    assert 0 < report.beside.closed <= 20
    assert 0 < report.follower_p50_ms <= report.follower_p99_ms
