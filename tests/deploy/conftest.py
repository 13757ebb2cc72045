"""Fixtures of the tests about what is deployed."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.stage import Stage


@pytest.fixture
async def stage(tmp_path: Path, kafka: str, unique: str) -> AsyncIterator[Stage]:
    """Topics and a group of the test's own, with two partitions."""
    async with Stage(tmp_path, kafka, unique, "memory://", partitions=2) as stage:
        yield stage
