"""Static membership: a rolling restart moves no partition."""

import pytest

from tests.support.rig import Rig, rigged, said, words
from tests.support.stage import Stage, until

pytestmark = pytest.mark.integration


def _as_member(stage: Stage, name: str) -> Stage:
    """The next worker has this name in the group."""
    stage.settings["kafka"]["group_instance_id"] = name
    return stage


def _owned(rig: Rig) -> list[int]:
    return [lane.partition.number for lane in rig.engine.lanes.values()]


async def test_a_static_member_that_stops_and_comes_back_moves_no_partition(stage: Stage) -> None:
    """It does not leave: the group waits for it, the others hear nothing, and it has its partition again."""
    async with rigged(_as_member(stage, "stays")) as stays:
        await stays.live()
        async with rigged(_as_member(stage, "restarts")) as restarts:
            await until(lambda: len(_owned(stays)) == len(_owned(restarts)) == 1, "each has a partition")
            await stays.live()
            await restarts.live()
            heard, owned = stays.engine.ownership.assignments, _owned(restarts)
            await restarts.engine.drain(10)
        async with rigged(_as_member(stage, "restarts")) as back:
            await back.live()
            assert _owned(back) == owned
            assert stays.engine.ownership.assignments == heard
            owner = back if owned == [0] else stays
            await said(stage, *words("m", "one ", "two"))
            await owner.settled(2)
    assert await stage.found() == await stage.expected()
