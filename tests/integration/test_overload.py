"""More than the others take: bounded, and all of it there when they take it again (P8)."""

import asyncio
from typing import Any

import pytest
from aiokafka import TopicPartition

from tests.support.rig import Rig, rigged
from tests.support.stage import Stage, until
from tokenmill.kafka.clients import FETCH_PARTITION_BYTES
from tokenmill.limits import KIB, MIB
from tokenmill.worker.engine import LANE_UNACKED_BYTES

pytestmark = pytest.mark.integration

RECORDS = 700
RECORD_BYTES = 32 * KIB
"""In all more than twice what may wait for the broker."""

GROWTH = 3
"""Output bytes for each of input, at most: the text, ids and headers."""


class Gate:
    """Lets nothing through to the broker while it is shut; the broker answers nobody then."""

    def __init__(self, rig: Rig) -> None:
        self._send = rig.engine.producer.send_batch
        self._open = asyncio.Event()
        rig.engine.producer.send_batch = self._wait

    async def _wait(self, *args: Any, **options: Any) -> Any:
        await self._open.wait()
        return await self._send(*args, **options)

    def open(self) -> None:
        """The broker takes outputs again."""
        self._open.set()


async def test_outputs_that_nobody_takes_pause_their_input(stage: Stage) -> None:
    """What waits stays below its cap and one fetch above it; then all of it comes, once, in order."""
    async with rigged(stage) as rig:
        await until(lambda: rig.engine.ready, "every partition is live")
        gate = Gate(rig)
        text = "x" * RECORD_BYTES
        await stage.send_all(("c", {"message_id": "m", "seq": seq, "delta": text}) for seq in range(RECORDS))
        [number] = [number for number, end in (await stage.ends()).items() if end]
        place = TopicPartition(stage.topics.tokens, number)
        lane = rig.engine.lanes[place]

        async def paused() -> bool:
            await rig.turn()
            return place in rig.engine.consumer.paused()

        await until(paused, "the partition is paused")
        for _ in range(10):
            assert await rig.turn() == 0
        assert LANE_UNACKED_BYTES < lane.unacked_bytes <= LANE_UNACKED_BYTES + GROWTH * FETCH_PARTITION_BYTES
        assert lane.partition.offset < RECORDS
        assert RECORDS * RECORD_BYTES > 2 * (LANE_UNACKED_BYTES + MIB)

        gate.open()

        async def through() -> bool:
            await rig.turn()
            return lane.partition.offset == RECORDS and not lane.in_flight

        await until(through, "everything is published")
        await rig.commit()
        assert rig.failures == []
    assert await stage.found() == await stage.expected()
