"""Gauges show what the engine holds when they are read."""

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition

from tests.support.rig import rigged
from tests.support.stage import Stage, until
from tokenmill.limits import MIB
from tokenmill.worker.gauges import read_gauges
from tokenmill.worker.lane import Phase

pytestmark = pytest.mark.integration


async def test_gauges_follow_the_engine(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Owned and replaying partitions, open messages and their size, lag, unacknowledged output."""
    async with rigged(stage) as rig:
        engine, numbers = rig.engine, rig.engine.numbers
        read_gauges(numbers, engine)
        await until(lambda: engine.ready, "every partition is live")
        place = TopicPartition(stage.topics.tokens, 0)
        await stage.send("c", {"message_id": "m", "delta": "x"}, partition=0)
        while engine.position(place) < 1:
            await rig.turn()
        assert numbers.value("tokenmill_unacknowledged_bytes") > 0
        await engine.lanes[place].drained()
        await rig.commit()
        assert numbers.value("tokenmill_assigned_partitions") == 2
        assert numbers.value("tokenmill_replaying_partitions") == 0
        assert numbers.value("tokenmill_open_messages") == 1
        assert 0 < numbers.value("tokenmill_state_bytes") < numbers.value("tokenmill_state_limit_bytes") == 2_048 * MIB
        assert numbers.value("tokenmill_unacknowledged_bytes") == 0
        assert numbers.value("tokenmill_consumer_lag_records", stage.topics.tokens, "0") == 0
        monkeypatch.setattr(engine, "end", lambda _: 5)  # as after a fetch that found more
        assert numbers.value("tokenmill_consumer_lag_records", stage.topics.tokens, "0") == 4
        engine.lanes[place].phase = Phase.REPLAYING
        assert numbers.value("tokenmill_replaying_partitions") == 1
        assert numbers.value("tokenmill_open_messages") == 0


async def test_records_of_an_open_transaction_are_shown(stage: Stage) -> None:
    """They are no lag, as they can't be read: nothing else shows that the partition stands still."""
    name = f"hangs-{stage.topics.tokens}"
    client = AIOKafkaProducer(bootstrap_servers=stage.bootstrap, transactional_id=name)
    async with rigged(stage) as rig, client as producer:
        read_gauges(rig.engine.numbers, rig.engine)
        await until(lambda: rig.engine.ready, "every partition is live")

        def shown(metric: str) -> float:
            return rig.engine.numbers.value(metric, stage.topics.tokens, "0")

        await producer.begin_transaction()
        await producer.send_and_wait(stage.topics.tokens, b"{}", key=b"c", partition=0)
        while not shown("tokenmill_uncommitted_records"):
            await rig.turn()
        assert shown("tokenmill_consumer_lag_records") == 0
        await producer.abort_transaction()
        while shown("tokenmill_uncommitted_records"):
            await rig.turn()
