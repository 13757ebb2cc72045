"""What a delivery does: it makes lanes with their ways out, sets epochs, and closes."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.rig import rigged
from tests.support.stage import Stage, until
from tokenmill.errors import Unavailable
from tokenmill.partition import Partition
from tokenmill.worker.exactly_once import in_transactions
from tokenmill.worker.lane import Phase

pytestmark = pytest.mark.integration

TIMEOUT_MS = 23_000


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
        assert list(rig.lane().outboxes) == [stage.topics.events, stage.topics.tool_calls, stage.topics.dlq]


async def test_what_breaks_outside_of_transactions_ends_the_worker(stage: Stage) -> None:
    """The producer of control records is that of all lanes: a lane that gets another one would have the same again."""
    async with rigged(stage, delivery="exactly-once", transaction_timeout_ms=TIMEOUT_MS) as rig:
        await until(lambda: rig.engine.ready, "every partition is live")
        lane, kafka = rig.lane(), rig.engine.config.kafka
        lane.inbox._break(problem := TimeoutError())
        assert (rig.failures, lane.phase) == ([problem], Phase.LIVE)
        name = f"{kafka.transactional_id_prefix}-{stage.group}-{stage.topics.tokens}-0"
        transaction = in_transactions(lane).transaction
        assert transaction.name == name
        assert transaction.client._txn_manager.transaction_timeout_ms == TIMEOUT_MS


async def test_a_partition_whose_previous_owner_may_still_write_is_not_taken_over(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commits would be read before its last one: the fence is tried again."""

    async def away() -> int:
        raise Unavailable("Kafka: InitProducerId")

    async with rigged(stage, delivery="exactly-once") as rig:
        await until(lambda: rig.engine.ready, "every partition is live")
        monkeypatch.setattr(in_transactions(rig.lane()).transaction, "open", away)
        with pytest.raises(Unavailable, match="InitProducerId"):
            await rig.engine.delivery.take_over([rig.lane(), rig.lane(1)], 0)


async def test_with_each_new_lane_the_copy_of_sessions_may_lack_some(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner before may have died between the topic and the store."""
    missed: list[None] = []
    async with rigged(stage) as rig:
        delivery = rig.engine.delivery
        sessions: Any = SimpleNamespace(missed=lambda: missed.append(None))
        monkeypatch.setattr(delivery, "parts", replace(delivery.parts, sessions=sessions))
        delivery.make_lane(Partition(delivery.parts.settings, stage.topics.tokens, 0))
        monkeypatch.undo()
    assert missed == [None]
