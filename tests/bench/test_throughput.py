"""Timing one side; whole runs are in `test_pipeline.py`."""

import asyncio
from pathlib import Path

import pytest

from tests.support.topics import admin_of, make_topics
from tokenmill.bench.kafka import preload
from tokenmill.bench.load import Load, Shape
from tokenmill.bench.throughput import Run, run_side
from tokenmill.bench.workbench import PASS_THROUGH, Workbench, new_group
from tokenmill.errors import FatalError


def test_processor_time_is_said_for_one_record() -> None:
    """A process that is busy half of the time and does a thousand a second needs half a millisecond for each."""
    assert Run(1_000.0, 0.5, None).processor_us == 500.0
    assert Run(1_000.0, None, None).processor_us is None


@pytest.mark.integration
async def test_a_load_that_is_too_small_to_be_timed_is_refused(kafka: str, tmp_path: Path) -> None:
    """A rate between two looks at the same commit would be made up."""
    workbench = Workbench(tmp_path, kafka, "", Shape(1.0, 10.0))
    await make_topics(kafka, *workbench.topics)
    await preload(kafka, workbench.tokens, Load(100))
    async with admin_of(kafka) as admin:
        async with asyncio.timeout(60):
            with pytest.raises(FatalError, match="measure with more"):
                await run_side(workbench, PASS_THROUGH, Load(100), admin, None, new_group())


@pytest.mark.integration
async def test_a_side_that_dies_is_said_with_its_last_words(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instead of waiting for what can't come."""
    workbench = Workbench(tmp_path, kafka, "", Shape(1.0, 10.0))
    await make_topics(kafka, *workbench.topics)
    broken = Workbench(tmp_path, "127.0.0.1:1", "", Shape(1.0, 10.0))
    monkeypatch.setattr(workbench, "process", broken.process)
    async with admin_of(kafka) as admin:
        with pytest.raises(FatalError, match=r"ended by itself: [\s\S]*(can't be reached|KafkaConnectionError)"):
            await run_side(workbench, PASS_THROUGH, Load(100), admin, None, new_group())
