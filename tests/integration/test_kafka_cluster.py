"""Three brokers hold the same records, and go on without one of them."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

from tests.support.kafka_cluster import KafkaCluster
from tests.support.stage import until
from tests.support.topics import admin_of, known
from tokenmill.servers import KafkaServer

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """One for all tests of this file."""
    with KafkaCluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


async def _leader(admin: AIOKafkaAdminClient, topic: str) -> int:
    [found] = await admin.describe_topics([topic])
    leader: int = found["partitions"][0]["leader"]
    return leader


async def test_others_go_on_while_the_leader_is_frozen(cluster: KafkaCluster) -> None:
    """A new leader is chosen; the frozen one has all that was written meanwhile soon after it woke up."""
    async with admin_of(cluster.bootstrap) as admin:
        await admin.create_topics([NewTopic("tokens", 1, 3)])
        await known(admin, ["tokens"])
        first = await _leader(admin, "tokens")
    others = ",".join(broker.bootstrap for node, broker in cluster.brokers.items() if node != first)
    async with AIOKafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all") as producer:
        await producer.send_and_wait("tokens", b"before")
    cluster.brokers[first].freeze()
    try:
        async with admin_of(others, patience_ms=2_000) as admin:

            async def moved() -> bool:
                with suppress(KafkaError):  # it may ask the one that is frozen
                    return await _leader(admin, "tokens") not in (first, -1)
                return False

            await until(moved, "another leader")
        async with AIOKafkaProducer(bootstrap_servers=others, acks="all") as producer:
            await producer.send_and_wait("tokens", b"meanwhile")
    finally:
        cluster.brokers[first].thaw()
    async with AIOKafkaConsumer("tokens", bootstrap_servers=others, auto_offset_reset="earliest") as consumer:
        assert [(await consumer.getone()).value for _ in range(2)] == [b"before", b"meanwhile"]


def test_clusters_have_ids_of_their_own(cluster: KafkaCluster, start_kafka: Callable[..., KafkaServer]) -> None:
    """Two of them can be told apart; the brokers of one can't."""
    assert {broker.cluster_id for broker in cluster.brokers.values()} == {cluster.cluster_id}
    assert start_kafka().cluster_id != cluster.cluster_id
