"""Exactly-once delivery (P5): whatever happens to workers, readers of what is committed see each record once."""

import asyncio
from pathlib import Path

import pytest
import redis

from tests.support.feeder import Feeder
from tests.support.reader import place, reading
from tests.support.stage import Stage, until
from tokenmill.servers import RedisServer
from tokenmill.servers.worker import WorkerProcess

pytestmark = pytest.mark.integration

DELIVERY = "exactly-once"

SETTINGS = {"delivery": DELIVERY, "idle_timeout_s": 2}

PARTITIONS = 4
CONVERSATIONS = 100
ZOMBIES = 10
"""Workers that may be frozen until one of them was in the middle of something."""


async def test_each_record_comes_once(stage: Stage) -> None:
    """Events, calls and dead letters of a run in peace are those of the oracle, byte for byte."""
    await stage.start(delivery=DELIVERY)
    for number in range(5):
        await stage.send_all(
            (f"c{n}", {"message_id": "m", "seq": number, "delta": "word ", "end": number == 4}) for n in range(20)
        )
        await stage.send("c0", b"no chunk")
    await until(stage.caught_up, "everything is committed")
    assert await stage.found() == await stage.expected()


async def _two(stage: Stage) -> list[WorkerProcess]:
    return list(await asyncio.gather(stage.start(**SETTINGS), stage.start(**SETTINGS)))


async def _kill(stage: Stage, feeder: Feeder, workers: list[WorkerProcess], cache: redis.Redis) -> None:
    """One in the middle of its work, then all of them, with an empty Redis behind them."""
    await feeder.progress()
    workers.pop(0).kill()
    await feeder.progress()
    workers.append(await stage.start(**SETTINGS))
    await feeder.progress()
    for worker in workers:
        worker.kill()
    cache.flushall()
    workers[:] = await _two(stage)


async def _come_and_go(stage: Stage, feeder: Feeder) -> None:
    """One more worker joins, works, and leaves in an orderly way."""
    guest = await stage.start(**SETTINGS)
    await feeder.progress()
    await asyncio.to_thread(guest.stop)


async def _freeze_until_fenced(stage: Stage, feeder: Feeder, workers: list[WorkerProcess]) -> None:
    """A worker is frozen until others have its partitions; when it goes on, none of its transactions may end."""
    for _ in range(ZOMBIES):
        zombie = workers.pop(0)
        await _freeze(stage, feeder, zombie)
        if _fenced(stage, zombie):
            return
        workers.append(await stage.start(**SETTINGS))
    raise AssertionError("no zombie was fenced")


async def _freeze(stage: Stage, feeder: Feeder, zombie: WorkerProcess) -> None:
    live, generations = len(stage.restores()), _generations(stage, zombie)
    zombie.freeze()
    await until(lambda: len(stage.restores()) >= live + PARTITIONS, "the others have its partitions")
    await feeder.progress()
    zombie.thaw()
    await until(lambda: not zombie.alive or _generations(stage, zombie) > generations, "it wakes up")


def _generations(stage: Stage, worker: WorkerProcess) -> int:
    """How often it was given partitions."""
    return [line["message"].startswith("generation") for line in stage.logged(worker)].count(True)


def _fenced(stage: Stage, worker: WorkerProcess) -> bool:
    return any("is fenced" in line["message"] for line in stage.logged(worker))


@pytest.mark.slow
async def test_whatever_happens_to_workers_each_record_comes_once(
    tmp_path: Path, kafka: str, redis_server: RedisServer, unique: str
) -> None:
    """Killed, joined by another, frozen beyond their session, without their snapshots: the records are the oracle's.

    What a reader saw while it happened is the same as what one sees in the end.
    """
    async with Stage(tmp_path, kafka, unique, redis_server.url, PARTITIONS) as stage, reading(stage) as reader:
        workers = await _two(stage)
        feeder = Feeder(stage, CONVERSATIONS)
        feeding = asyncio.create_task(feeder.run())
        cache = redis.Redis(port=redis_server.port)
        try:
            await _kill(stage, feeder, workers, cache)
            await _come_and_go(stage, feeder)
            await _freeze_until_fenced(stage, feeder, workers)
        finally:
            cache.close()
            feeder.enough.set()
            await feeding
        await until(stage.at_rest, "every message is ended, the last ones by their timeout, and that is committed")

        found = await stage.found()
        assert found == await stage.expected()
        events = await stage.read(stage.topics.events)
        await until(lambda: len(reader.seen) >= len(events), "the reader has seen all")
        assert sorted(reader.seen) == sorted(map(place, events))
        assert {"redis", "replay"} <= stage.sources().keys()
