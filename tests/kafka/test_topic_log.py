"""Which log a topic is and what it holds, on a real Kafka; and which broker not to believe."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiokafka.client import AIOKafkaClient
from aiokafka.structs import BrokerMetadata

from tests.support.rig import configuration
from tests.support.stage import Stage
from tokenmill.errors import Unavailable
from tokenmill.kafka import topic_log as module
from tokenmill.kafka.calls import until_available
from tokenmill.kafka.log_protocol import EPOCH_ENDS
from tokenmill.kafka.topic_log import Extent, Leader, NoTopic, TopicLog, cluster_id, extents, look, unrecognised
from tokenmill.partition import LogId, Mark

RECORDS = 3


@pytest.fixture
async def client(stage: Stage) -> AsyncIterator[AIOKafkaClient]:
    """A client as the consumer has one."""
    client = AIOKafkaClient(bootstrap_servers=stage.bootstrap)
    await client.bootstrap()
    yield client
    await client.close()


async def _written(stage: Stage) -> None:
    for _ in range(RECORDS):
        await stage.send("c", b"{}", partition=0)


def _mark(found: TopicLog, offset: int, epoch: int) -> Mark:
    return Mark(offset, 0, "f", log=found.log, epoch=epoch)


@pytest.mark.integration
async def test_a_topic_has_an_id_and_leaders_with_epochs(stage: Stage, client: AIOKafkaClient) -> None:
    """And is in a cluster with an id; a name without a topic is reported as such."""
    found = await look(client, stage.topics.tokens)
    other = await look(client, stage.topics.events)
    assert found.log.cluster == other.log.cluster == await cluster_id(configuration(stage).kafka)
    assert len({found.log.topic, other.log.topic, ""}) == 3
    assert sorted(found.leaders) == [0, 1]
    assert min(leader.epoch for leader in found.leaders.values()) >= 0
    with pytest.raises(NoTopic):
        await look(client, "nobody-made-it")


@pytest.mark.integration
async def test_what_a_topic_holds(stage: Stage, client: AIOKafkaClient) -> None:
    """And up to where it is what was committed, if the commit names the epoch in which that was written."""
    await _written(stage)
    found = await look(client, stage.topics.tokens)
    epoch = found.leaders[0].epoch
    marks = {0: _mark(found, RECORDS, epoch), 1: None}
    asked = await until_available(lambda: extents(client, stage.topics.tokens, marks), 30)  # of a new partition
    assert asked[0] == Extent(0, RECORDS, found.log, epoch, shared=RECORDS)
    assert asked[1] == Extent(0, 0, found.log, found.leaders[1].epoch)


@pytest.mark.integration
async def test_a_leader_of_an_older_epoch_is_not_believed(stage: Stage, client: AIOKafkaClient) -> None:
    """The broker that names it has not heard of the leader that wrote what is committed."""
    await _written(stage)  # a leader that was just chosen may not have heard of it
    found = await look(client, stage.topics.tokens)
    newer = found.leaders[0].epoch + 1
    with pytest.raises(Unavailable, match="these metadata are older"):
        await extents(client, stage.topics.tokens, {0: _mark(found, 0, newer)})
    of_another_log = Mark(0, 0, "f", log=LogId("", "made anew"), epoch=newer)
    assert (await extents(client, stage.topics.tokens, {0: of_another_log}))[0].shared is None


@pytest.mark.integration
async def test_an_end_that_is_not_shown_yet_is_no_lost_one(
    stage: Stage, client: AIOKafkaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new leader has the records that were committed, but shows them to nobody before its followers have them."""
    await _written(stage)
    found, offsets = await look(client, stage.topics.tokens), module._offsets

    async def behind(*asked: Any) -> dict[int, int]:
        answer = await offsets(*asked)
        return answer if asked[2].key == EPOCH_ENDS else dict.fromkeys(answer, RECORDS - 1)

    monkeypatch.setattr(module, "_offsets", behind)
    with pytest.raises(Unavailable, match="does not show it yet"):
        await extents(client, stage.topics.tokens, {0: _mark(found, RECORDS, found.leaders[0].epoch)})


@pytest.mark.integration
async def test_a_partition_that_is_not_there_has_no_leader(stage: Stage, client: AIOKafkaClient) -> None:
    """It may still get one."""
    with pytest.raises(Unavailable, match="has no leader"):
        await extents(client, stage.topics.tokens, {7: None})


@pytest.mark.integration
async def test_a_broker_that_is_gone_is_unavailable(stage: Stage, client: AIOKafkaClient) -> None:
    """Not an error of its own."""
    await client.close()
    client.cluster._brokers.clear()
    with pytest.raises(Unavailable, match="there is no broker"):
        await look(client, stage.topics.tokens)


@pytest.mark.integration
async def test_half_of_the_brokers_are_not_most(
    stage: Stage, client: AIOKafkaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two may be the one that was away: another log than the known one is then not believed."""
    known, brokers = LogId("cluster", "topic"), client.cluster.brokers()
    assert (await look(client, stage.topics.tokens, known)).log.is_another(known)
    monkeypatch.setattr(client.cluster, "brokers", lambda: [*brokers, BrokerMetadata(99, "127.0.0.1", 1, None)])
    with pytest.raises(Unavailable, match="to 1 of 2 brokers"):
        await look(client, stage.topics.tokens, known)


def test_what_is_lost_with_an_old_broker_is_said() -> None:
    """By sentences about it; a broker that reports everything needs none."""
    assert list(unrecognised(TopicLog(LogId("c", "t"), {0: Leader(1, 0)}))) == []
    told = " ".join(unrecognised(TopicLog(LogId(), {0: Leader(1, -1)})))
    assert "another cluster" in told
    assert "deleted and made again" in told
    assert "epochs of leaders" in told


async def test_a_connection_that_closed_unheard_is_unavailable_too(
    stage: Stage, client: AIOKafkaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Uvloop raises its own error for it; the next look makes another connection."""

    async def send(*_: object) -> None:
        raise RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed")

    monkeypatch.setattr(client, "send", send)
    with pytest.raises(Unavailable, match="ask broker 1: the connection is gone"):
        await look(client, stage.topics.tokens)


@pytest.mark.parametrize(("shared", "agreed"), [(None, 20), (15, 15), (25, 20)])
def test_what_is_committed_ends_where_the_logs_agree(shared: int | None, agreed: int) -> None:
    """And not after the end of what there is; where it is not known, the end is that of the log."""
    assert Extent(10, 20, shared=shared).agreed == agreed
