"""Callers that come and go faster than a lease: the group shares its partitions out anew each time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer

from tests.caller.desk import Desk, request
from tests.caller.model import Model
from tests.caller.test_caller import SLOW, Start, answered, desk, model, pytestmark, start
from tests.support.stage import until

__all__ = ["desk", "model", "pytestmark", "start"]

STAYS_S = 0.3
"""Each; a lease is three times as long."""


@asynccontextmanager
async def visitors(desk: Desk) -> AsyncIterator[None]:
    """Members of the group who want no partition of ours, one after the other; the last one goes by itself: a client
    whose stop is cancelled leaves its connection open.
    """
    over = asyncio.Event()

    async def come_and_go() -> None:
        while not over.is_set():
            consumer = AIOKafkaConsumer(
                bootstrap_servers=desk.config.kafka.bootstrap_servers,
                group_id=f"callers of {desk.topics.requests}",
                heartbeat_interval_ms=100,
                enable_auto_commit=False,
            )
            consumer.subscribe([desk.topics.events])
            try:
                await consumer.start()
                await asyncio.sleep(STAYS_S)
            finally:
                await consumer.stop()

    coming = asyncio.create_task(come_and_go())
    try:
        yield
    finally:
        over.set()
        await coming


async def test_a_silent_answer_is_taken_over_however_often_partitions_are_shared_out(
    desk: Desk, model: Model, start: Start
) -> None:
    """Silence is counted by who listens, and not from the last rebalance on."""
    model.scripts["m1"] = SLOW
    first = start("first")
    await desk.ask(request("m1", "goes-on"))
    await model.says("m1")
    first.kill()
    async with visitors(desk):
        second = start("second")
        await until(lambda: second.log.read_text().count("partitions are ours") >= 3, "partitions move", 60)
        await until(lambda: "its fate is continued" in second.log.read_text(), "it is taken over", 20)
    assert (await answered(desk, "m1"))["m1"] == f"{SLOW.text}[stop]"
