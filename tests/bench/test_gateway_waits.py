"""How long somebody waits for a gateway: a small run on a Kafka and a Redis of its own."""

from pathlib import Path

import pytest

from tokenmill.bench.gateway_waits import measure_waits

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_each_kind_of_wait_is_measured(monkeypatch: pytest.MonkeyPatch, kafka: str, tmp_path: Path) -> None:
    """Nothing is read behind the end; the rest of an answer has its size; folded, all of it is small."""
    monkeypatch.setattr("tokenmill.bench.gateway_waits.TIMES", 3)
    monkeypatch.setattr("tokenmill.bench.gateway_waits.STOPS", 3)
    waits = measure_waits(tmp_path, kafka)
    assert all(0 < wait.p50_ms <= wait.p99_ms for wait in waits)
    ended, *others, stopped = waits
    assert (ended.size, ended.budget_ms) == (0, 0)
    assert [wait.budget_ms for wait in others] == [5, 5, 50, 50, 5, 5, 50, 50, 100, 100]
    assert all(wait.size > 1_000 for wait in others)
    assert max(wait.size for wait in others[-2:]) < 32_000
    assert (stopped.name, stopped.budget_ms) == ("a stop, until the last event", 250)
