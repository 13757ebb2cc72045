"""Latency of one side."""

from pathlib import Path

import pytest

from tokenmill.bench import latency
from tokenmill.bench.kafka import BATCH_BYTES, created, ends
from tokenmill.bench.latency import latency_of
from tokenmill.bench.load import Load, Shape
from tokenmill.bench.workbench import PASS_THROUGH, Workbench
from tokenmill.errors import FatalError

pytestmark = pytest.mark.integration


async def test_a_steady_stream_is_timed_from_input_to_output(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the records took no longer than the one figure, 99 of 100 no longer than the other."""
    monkeypatch.setattr(latency, "WARM_UP_S", 0.5)
    monkeypatch.setattr(latency, "MEASURED_S", 2.0)
    workbench = Workbench(tmp_path, kafka, "", Shape(1.0, 10.0))
    async with created(kafka, workbench.topics) as admin:
        result = await latency_of(workbench, PASS_THROUGH, 500.0, admin)
    assert result.records_per_s == 500.0
    assert 0 < result.p50_ms <= result.p99_ms < 60_000


async def test_a_side_that_is_late_has_no_latency(kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is still on its way would be missing in the figures, and the slowest records first."""
    monkeypatch.setattr(latency, "BEHIND_S", 0.0)
    workbench = Workbench(tmp_path, kafka, "", Shape(1.0, 10.0))
    async with created(kafka, workbench.topics) as admin:
        with pytest.raises(FatalError, match="pass-through is not at work within 0 s"):
            await latency_of(workbench, PASS_THROUGH, 500.0, admin)


async def test_a_feeder_that_was_held_up_leaves_nothing_out(kafka: str, tmp_path: Path) -> None:
    """What is due at once may be more than a record batch holds."""
    workbench = Workbench(tmp_path, kafka, "", Shape(1.0, 10.0))
    load = Load(4 * BATCH_BYTES // 40)
    async with created(kafka, workbench.topics):
        async with latency.feeding(workbench) as producer:
            await latency._send(producer, workbench, list(load))
        assert sum((await ends(kafka, [workbench.tokens])).values()) == load.records
