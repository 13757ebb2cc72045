"""What a restore begins with, and what it does not believe immediately."""

import pytest
from aiokafka import TopicPartition

from tests.support.rig import rigged, said, words
from tests.support.stage import Stage
from tokenmill.errors import Unavailable
from tokenmill.kafka.believed_ends import BELIEF_S
from tokenmill.partition import Mark
from tokenmill.worker.positions import BelievedExtents, Committed, commits

pytestmark = pytest.mark.integration


async def test_an_end_below_the_commit_is_asked_for_again(stage: Stage) -> None:
    """Where no epoch shows whom to believe, it is doubted for a while, then believed."""
    now = 0.0
    async with rigged(stage) as rig:
        await rig.live()
        place = TopicPartition(stage.topics.tokens, 0)
        found = BelievedExtents(rig.engine.consumer, lambda: now + 1)
        above = {place: Committed(5, Mark(5, 5, "f"))}
        with pytest.raises(Unavailable, match="ends at 0, below what is committed, 5"):
            await found.of([place], above)
        now = BELIEF_S
        assert (await found.of([place], above))[place].end == 0
        assert (await found.of([place], {}))[place].end == 0


async def test_commits_come_with_their_marks(stage: Stage) -> None:
    """Partitions without one are left out."""
    async with rigged(stage) as rig:
        await rig.live()
        await said(stage, *words("m", "one "))
        await rig.settled(1)
        places = [TopicPartition(stage.topics.tokens, number) for number in range(2)]
        found = await commits(rig.engine.consumer, places)
        assert found[places[0]] == Committed(1, rig.lane().committed)
