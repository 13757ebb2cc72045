"""Fixtures of the integration tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.stage import Stage
from tokenmill.servers import RedisServer


@pytest.fixture
async def stage(tmp_path: Path, kafka: str, redis_url: str, unique: str) -> AsyncIterator[Stage]:
    """Topics and a group of the test's own, on the shared Kafka and Redis."""
    async with Stage(tmp_path, kafka, unique, redis_url, partitions=2) as stage:
        yield stage


@pytest.fixture
async def fragile(tmp_path: Path, kafka: str, redis_server: RedisServer, unique: str) -> AsyncIterator[Stage]:
    """The same with a Redis that the test may break."""
    async with Stage(tmp_path, kafka, unique, redis_server.url, partitions=2) as stage:
        yield stage
