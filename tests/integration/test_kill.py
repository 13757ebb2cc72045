"""The promise of the whole: workers are killed again and again, and what is published is what one run would publish."""

import asyncio
from pathlib import Path

import pytest
import redis

from tests.support.feeder import Feeder
from tests.support.stage import Stage, until, without_repeats
from tokenmill.servers import RedisServer
from tokenmill.servers.worker import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

RESTORED = 20

SETTINGS = {"idle_timeout_s": 2, "commit_interval_ms": 400}
"""Commits are rare, so that a kill finds events that are published and not committed: those are repeated."""


async def _kill_until_restored(stage: Stage, feeder: Feeder, cache: redis.Redis) -> None:
    """Kill one worker after the other, each in the middle of its work; empty Redis every other time."""
    victims: list[WorkerProcess] = list(stage.workers)
    rounds = 0
    while True:
        restores = stage.sources()
        if restores["redis"] + restores["replay"] >= RESTORED and restores["redis"] and restores["replay"]:
            return
        await feeder.progress()
        victims.pop(0).kill()
        if rounds % 2:
            cache.flushall()
        victims.append(await stage.start(**SETTINGS))
        rounds += 1


async def test_killed_workers_publish_what_one_run_would(
    tmp_path: Path, kafka: str, redis_server: RedisServer, unique: str
) -> None:
    """Two workers, killed until twenty partitions were restored from Redis and by replay: the events are the oracle's.

    The oracle runs over the input as it is in the end, with the timeouts that the workers wrote. Repeats are dropped;
    nothing else may differ. It could if the log no longer held an opening (`state-lost`), or if the configuration had
    changed (`reconfigured`): neither happens here, and those events would have no `seq`.
    """
    async with Stage(tmp_path, kafka, unique, redis_server.url) as stage:
        for _ in range(2):
            await stage.start(**SETTINGS)
        feeder = Feeder(stage)
        feeding = asyncio.create_task(feeder.run())
        cache = redis.Redis(port=redis_server.port)
        try:
            await _kill_until_restored(stage, feeder, cache)
        finally:
            cache.close()
            feeder.enough.set()
            await feeding
        await until(stage.at_rest, "every message is ended, the last ones by their timeout, and that is committed")

        found, expected = await stage.found(), await stage.expected()
        assert expected.keys() == found.keys()
        for place, contents in found.items():
            assert without_repeats(contents) == expected[place], place
        assert all(any(header == "tm-seq" for header, _ in content[3]) for content in found[stage.topics.events, 0])
        assert sum(len(contents) for contents in found.values()) > sum(len(contents) for contents in expected.values())
