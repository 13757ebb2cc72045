"""What a delivery does: it makes lanes with their ways out, sets epochs, and closes."""

from typing import Any

import pytest

from tests.support.rig import rigged
from tests.support.stage import Stage, until

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(("delivery", "own"), [("at-least-once", 0), ("exactly-once", 2)])
async def test_producers_are_known_and_let_go(stage: Stage, delivery: Any, own: int) -> None:
    """One for all, and one for each of the two partitions where there are transactions; closing ends each."""
    async with rigged(stage, delivery=delivery) as rig:
        await until(lambda: rig.engine.ready, "every partition is live")
        producers = rig.engine.delivery.producers()
        assert len(producers) == 1 + own
        assert not any(producer._sender.sender_task.done() for producer in producers)
        await rig.engine.delivery.close()
        assert all(producer._closed for producer in producers)
        assert len(rig.engine.delivery.producers()) == 1


async def test_the_epoch_at_least_once_is_the_group_s_generation(stage: Stage) -> None:
    """The lanes write their snapshots with it."""
    async with rigged(stage) as rig:
        await until(lambda: rig.engine.ready, "every partition is live")
        generation = rig.engine.consumer._coordinator.generation
        assert {lane.snapshots.epoch for lane in rig.engine.lanes.values()} == {generation}
        assert rig.engine.committer._interval_s == 0.1
