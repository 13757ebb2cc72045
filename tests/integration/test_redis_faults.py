"""Redis is a cache (P6): whatever becomes of it, events come, none is lost, none is doubled."""

import time

import pytest

from tests.support.stage import Stage, counted, until
from tokenmill.servers import RedisServer

pytestmark = pytest.mark.integration

MESSAGES = 30


async def _talk(stage: Stage, name: str) -> float:
    """Send some messages and wait for their events; answers how many seconds that took."""
    began = time.monotonic()
    for number in range(MESSAGES):
        message = f"{name}-{number}"
        await stage.send_all(
            (message, {"message_id": message, "seq": seq, "delta": "word ", "end": seq == 9}) for seq in range(10)
        )
    await until(stage.caught_up, f"everything is committed: {name}", 30)
    return time.monotonic() - began


async def _is_as_expected(stage: Stage) -> bool:
    return await stage.found() == await stage.expected()


async def test_without_redis_work_goes_on(fragile: Stage, redis_server: RedisServer) -> None:
    """Nothing answers from the start: events come all the same; the failures are counted."""
    redis_server.kill()
    worker = await fragile.start()
    await _talk(fragile, "alone")
    assert await _is_as_expected(fragile)
    await until(lambda: counted(worker, 'tokenmill_redis_errors_total{op="head"}'), "errors are counted")


async def test_a_frozen_redis_slows_nothing(fragile: Stage, redis_server: RedisServer) -> None:
    """It takes connections and never answers: the token path does not wait for it."""
    await fragile.start(snapshot_interval_s=0.2)
    usual = await _talk(fragile, "before")
    redis_server.freeze()
    frozen = await _talk(fragile, "frozen")
    redis_server.thaw()
    await _talk(fragile, "after")
    assert await _is_as_expected(fragile)
    assert frozen < 2 * usual + 2


async def test_a_stale_snapshot_is_not_believed(fragile: Stage, redis_server: RedisServer) -> None:
    """A snapshot that is older than the commit is where the replay begins, not where it ends."""
    worker = await fragile.start(snapshot_interval_s=0.2)
    await fragile.send_all(("c", {"message_id": "m", "seq": seq, "delta": f"{seq} "}) for seq in range(20))
    await until(lambda: counted(worker, 'tokenmill_snapshots_total{kind="full",outcome="done"}'), "a snapshot")
    redis_server.freeze()
    await fragile.send_all(("c", {"message_id": "m", "seq": seq, "delta": f"{seq} "}) for seq in range(20, 40))
    await until(fragile.caught_up, "committed, though not in any snapshot")
    worker.kill()
    redis_server.thaw()
    await fragile.start()
    await fragile.send("c", {"message_id": "m", "seq": 40, "delta": "end", "end": True})
    await until(fragile.caught_up, "the message ends")
    assert await _is_as_expected(fragile)
    assert fragile.sources()["redis"] >= 1
