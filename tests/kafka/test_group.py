"""A group is asked for its members."""

import pytest

from tests.support.rig import rigged
from tests.support.stage import Stage, until
from tokenmill.errors import Unavailable
from tokenmill.kafka.group import still_a_member


@pytest.mark.integration
async def test_the_group_is_asked_for_a_place(stage: Stage) -> None:
    """A member that was forgotten hears of it, and joins again."""
    async with rigged(stage) as rig:
        await rig.live()
        await still_a_member(rig.engine.consumer)
        await rig.forget()
        with pytest.raises(Unavailable, match="does not know this member"):
            await still_a_member(rig.engine.consumer)
        await until(lambda: rig.engine.ownership.assignments == 2, "it has joined again")
        await rig.live()
        await still_a_member(rig.engine.consumer)
