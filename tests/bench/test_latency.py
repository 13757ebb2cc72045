"""Latency of one side."""

from pathlib import Path

import pytest

from tests.support.topics import make_topics
from tokenmill.bench import latency
from tokenmill.bench.latency import latency_of
from tokenmill.bench.load import Shape
from tokenmill.bench.stand import PASS_THROUGH, Stand

pytestmark = pytest.mark.integration


async def test_a_steady_stream_is_timed_from_input_to_output(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the records took no longer than the one figure, 99 of 100 no longer than the other."""
    monkeypatch.setattr(latency, "WARM_UP_S", 0.5)
    monkeypatch.setattr(latency, "MEASURED_S", 2.0)
    stand = Stand(tmp_path, kafka, "", Shape(1.0, 10.0))
    await make_topics(kafka, *stand.topics)
    result = await latency_of(stand, PASS_THROUGH, 500.0)
    assert result.records_per_s == 500.0
    assert 0 < result.p50_ms <= result.p99_ms < 10_000
