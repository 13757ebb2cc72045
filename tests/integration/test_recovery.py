"""State that has to be had again: by replay, silently; and what is said where it can't be had."""

import asyncio

import pytest
import redis

from tests.support.stage import Stage, asked, until
from tokenmill.servers import RedisServer
from tokenmill.servers.worker import WorkerProcess

pytestmark = pytest.mark.integration


def _flush(server: RedisServer) -> None:
    with redis.Redis(port=server.port) as client:
        client.flushall()


async def _kill(stage: Stage, worker: WorkerProcess) -> None:
    """After everything is committed, so that a restart has nothing new to publish."""
    await until(stage.caught_up, "everything is committed")
    worker.kill()


def _words(message: str, first: int, count: int) -> list[tuple[str, dict[str, object]]]:
    return [("c", {"message_id": message, "seq": seq, "delta": f"{seq} "}) for seq in range(first, first + count)]


async def test_messages_whose_beginning_is_gone_are_announced_as_lost_once(
    fragile: Stage, redis_server: RedisServer
) -> None:
    """No snapshot, and the log begins behind the opening: one `state-lost` and one `finish`, without `seq`, once."""
    worker = await fragile.start()
    await fragile.send_all(_words("m", 0, 10))
    await _kill(fragile, worker)
    _flush(redis_server)
    [(number, _)] = [(number, end) for number, end in (await fragile.ends()).items() if end]
    await fragile.delete_records(number, 5)

    worker = await fragile.start()
    await fragile.send_all(_words("m", 10, 5))
    await _kill(fragile, worker)
    _flush(redis_server)
    worker = await fragile.start()
    await fragile.send_all(_words("m", 15, 1))
    await until(fragile.caught_up, "everything is committed")

    told = [event for event in await fragile.events() if "seq" not in event]
    assert [(event["type"], event.get("code"), event.get("reason")) for event in told] == [
        ("error", "state-lost", None),
        ("finish", None, "error"),
    ]
    await until(lambda: 'chunks_dropped_total{reason="lost"} 1.0' in worker.metrics(), "later chunks are counted")


async def test_messages_of_another_configuration_are_announced(fragile: Stage, redis_server: RedisServer) -> None:
    """State that only a replay could give, but under other defaults: `reconfigured` and `finish`."""
    worker = await fragile.start()
    await fragile.send_all(_words("m", 0, 3))
    await _kill(fragile, worker)
    _flush(redis_server)
    fragile.settings["parser"] = {"format": "hermes"}
    await fragile.start()
    await until(fragile.caught_up, "everything is committed")
    await fragile.send_all([("d", {"message_id": "n", "seq": 0, "delta": "on", "end": True})])
    await until(fragile.caught_up, "everything is committed")

    told = [event for event in await fragile.events() if "seq" not in event]
    assert [event.get("code", event.get("reason")) for event in told] == ["reconfigured", "error"]
    started = [event for event in await fragile.events() if event["type"] == "message-start"]
    # The two conversations may lie in different partitions, between which there is no order.
    assert {event["message_id"]: event["format"] for event in started} == {"m": "plain", "n": "hermes"}


async def test_a_snapshot_outlives_a_change_of_configuration(fragile: Stage) -> None:
    """Options are pinned: with a snapshot at the committed offset a message goes on as it began."""
    worker = await fragile.start()
    await fragile.send_all(_words("m", 0, 3))
    await until(fragile.caught_up, "everything is committed")
    await asyncio.to_thread(worker.stop)
    fragile.settings["parser"] = {"format": "hermes"}
    await fragile.start()
    await fragile.send_all([("c", {"message_id": "m", "seq": 3, "delta": "<think>", "end": True})])
    await until(fragile.caught_up, "everything is committed")
    events = await fragile.events()
    assert "".join(event["delta"] for event in events if event["type"] == "text-delta") == "0 1 2 <think>"
    assert events[-1]["reason"] == "stop"
    assert all("seq" in event for event in events)


async def test_a_replay_is_silent_and_not_ready(fragile: Stage, redis_server: RedisServer) -> None:
    """A long replay: `/readyz` refuses meanwhile, `/healthz` does not, nothing is published, then work goes on."""
    worker = await fragile.start()
    await fragile.send("c", {"message_id": "open", "seq": 0, "delta": "x"}, partition=0)
    for _ in range(40):
        await fragile.send_all(("c", {"message_id": "open", "delta": "word "}) for _ in range(1_000))
    await _kill(fragile, worker)
    _flush(redis_server)
    before = await fragile.ends_of(fragile.topics.events)

    worker = fragile.prepare()
    starting = asyncio.create_task(asyncio.to_thread(worker.start))
    await until(lambda: asked(worker, "/readyz") == (503, "restoring\n"), "not ready during the replay", 30)
    assert asked(worker, "/healthz") == (200, "ok\n")
    await starting
    assert fragile.sources()["replay"] == 1
    assert await fragile.ends_of(fragile.topics.events) == before
    assert "tokenmill_replay_mismatches_total 0.0" in worker.metrics()
    await fragile.send("c", {"message_id": "open", "end": True})
    await until(fragile.caught_up, "the message ends")
    assert (await fragile.events())[-1]["type"] == "finish"
