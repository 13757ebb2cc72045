"""Latencies of all sides, on a real Kafka."""

import pytest

from tokenmill.bench import latency
from tokenmill.bench.latencies import PARTITIONS, run_latencies
from tokenmill.bench.workbench import IN_TRANSACTIONS, RE_ENCODING, SIDES

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_every_side_is_measured_at_every_rate(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In turns, each run on topics of its own."""
    monkeypatch.setattr(latency, "WARM_UP_S", 0.5)
    monkeypatch.setattr(latency, "MEASURED_S", 1.0)
    told = list[str]()
    report = run_latencies(bootstrap=kafka, rates=(200,), rounds=1, progress=told.append)
    assert report.partitions == PARTITIONS
    sides = [*SIDES, RE_ENCODING, IN_TRANSACTIONS]
    assert {side: len(of[200]) for side, of in report.runs.items()} == dict.fromkeys(sides, 1)
    assert all(0 < report.p50_ms(side, 200) <= report.p99_ms(side, 200) for side in sides)
    assert [line.split(" at ")[0] for line in told] == sides
