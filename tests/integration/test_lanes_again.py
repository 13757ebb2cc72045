"""A lane of which the broker does not take what it says begins again, alone, in the same process."""

from collections.abc import Collection
from contextlib import nullcontext
from functools import partial

import pytest
from aiokafka.errors import RequestTimedOutError

from tests.support.rig import Rig, rigged
from tests.support.stage import Stage
from tokenmill.errors import FatalError
from tokenmill.worker.exactly_once import TransactionCommitter, in_transactions
from tokenmill.worker.lane import Lane, Phase

pytestmark = pytest.mark.integration

rigged_once = partial(rigged, delivery="exactly-once")


async def _said(stage: Stage, rig: Rig, first: int, last: int) -> None:
    """Records of one message are read and parsed."""
    for seq in range(first, last):
        await stage.send("c", {"message_id": "m", "seq": seq, "delta": "x"}, partition=0)
    await rig.parsed(last)


def _lane(rig: Rig) -> Lane:
    return rig.lane()


def _committer(rig: Rig) -> TransactionCommitter:
    committer = rig.engine.committer
    assert isinstance(committer, TransactionCommitter)
    return committer


async def test_a_transaction_that_is_not_over_is_made_again(stage: Stage) -> None:
    """Nothing is lost or said twice, and no other lane hears of it."""
    async with rigged_once(stage) as rig:
        await rig.live()
        await _said(stage, rig, 0, 3)
        lanes = dict(rig.engine.lanes)
        in_transactions(_lane(rig)).transaction._seconds = 0
        await rig.commit()
        assert (rig.lane().phase, await stage.found()) == (Phase.FAILED, {})
        await rig.turn()
        await rig.live()
        await _said(stage, rig, 3, 6)
        await rig.commit()
        assert await stage.found() == await stage.expected()
        await stage.committed_at(6)
        assert {tp.partition: rig.engine.lanes[tp] is lanes[tp] for tp in lanes} == {0: False, 1: True}
        assert rig.engine.numbers.value("tokenmill_commits_total", "failed") == 1
        assert (rig.failures, _committer(rig)._failing) == ([], {})


async def test_a_send_that_fails_is_enough(stage: Stage) -> None:
    """Nobody waits until its transaction is late."""
    async with rigged_once(stage) as rig:
        await rig.live()
        lane = _lane(rig)
        in_transactions(lane).transaction.failed(RequestTimedOutError())
        assert lane.phase is Phase.FAILED
        await rig.turn()
        await rig.live()
        await _said(stage, rig, 0, 3)
        await rig.commit()
        assert rig.lane() is not lane
        assert await stage.found() == await stage.expected()
        assert rig.failures == []


async def test_without_a_commit_for_too_long_it_can_not_go_on(stage: Stage) -> None:
    """What is wrong then is not cured by another producer. A failure of long ago is no part of it."""
    async with rigged_once(stage) as rig:
        await rig.live()
        await rig.commit()
        committer, tp = _committer(rig), rig.lane().topic_partition
        long = committer._patience + 1
        for seq, (began, last, too_long) in enumerate([(0.0, 0.0, False), (2 * long, long, False), (long, 0.0, True)]):
            await _said(stage, rig, seq, seq + 1)
            committer._failing = {tp: (committer._clock() - began, committer._clock() - last)}
            in_transactions(_lane(rig)).transaction._seconds = 0
            with pytest.raises(FatalError, match="no commit came through for") if too_long else nullcontext():
                await rig.commit()
            await rig.turn()
            await rig.live()


async def test_who_is_no_member_any_more_fences_nobody(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition that it lost without hearing of it is another one's: first the group is asked."""
    async with rigged_once(stage) as rig:
        await rig.live()
        ownership, takes_over = rig.engine.ownership, rig.engine.delivery.take_over
        taken = list[int]()

        async def take_over(lanes: Collection[Lane], generation: int) -> None:
            taken.append(ownership.assignments)
            await takes_over(lanes, generation)

        monkeypatch.setattr(rig.engine.delivery, "take_over", take_over)
        await rig.forget()
        in_transactions(_lane(rig)).transaction.failed(RequestTimedOutError())
        rig.engine.balance()
        assert rig.lane().phase is Phase.RESTORING
        await rig.live()
        assert taken == [2]
