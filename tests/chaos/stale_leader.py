"""The leader of `tokens` stalls, others elect a new one and work goes on; then it wakes up, just when somebody asks.

A worker that takes the partition over has heard of nothing: its metadata are those of before. The one who was the
leader answers what it knew when it was frozen, and for a moment nobody has told it. Whoever believes its end takes what
is committed for that of another log, and publishes everything again.

One freeze serves many tries: groups with topics and two workers each, of which one takes over from the other.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import NewTopic
from aiokafka.errors import KafkaError

from tests.support.kafka_cluster import KafkaCluster
from tests.support.rig import Rig, rigged
from tests.support.stage import Content, Stage, until
from tests.support.topics import admin_of, known
from tokenmill.kafka.calls import stopped

BEFORE, MEANWHILE, AFTER = 5, 20, 3
"""Records: before the leader is frozen, under the new one, and after the takeover."""

IN_FLIGHT_S = 2.0
"""At most, from the takeover until the frozen broker wakes up: what it was asked stands in its queue then."""


class Outcome(NamedTuple):
    """Of a try."""

    delivery: str
    expected: int
    found: int
    same: bool
    """Whether the outputs are those of the oracle, each once."""
    unaware: bool
    """Whether the heir, when it took over, took the frozen broker for the leader: else nothing was tried."""


class Replicated(Stage):
    """A stage with one input partition, held by all brokers and led by the one that will stall."""

    leader = 0
    nodes: Sequence[int] = ()

    async def make_topics(self, **configs: str) -> None:  # noqa: ARG002 -- none are asked for
        """All held by all; the outputs are led by others than the input."""
        others = [node for node in self.nodes if node != self.leader]
        places = {self.topics.tokens: [self.leader, *others]}
        names = [getattr(self.topics, key) for key in ("tokens", "events", "tool_calls", "dlq")]
        async with admin_of(self.bootstrap) as admin:
            new = [
                NewTopic(name, -1, -1, replica_assignments={0: places.get(name, [*others, self.leader])})
                for name in names
            ]
            await admin.create_topics(new)
            await known(admin, names)


class Try:
    """One group with two workers."""

    def __init__(self, stage: Replicated, rigs: Sequence[Rig], delivery: str) -> None:
        self.stage = stage
        self.delivery = delivery
        self._rigs = rigs
        self._unaware = self._handing_over = False

    @property
    def _owner(self) -> Rig:
        return next(rig for rig in self._rigs if rig.engine.lanes)

    @property
    def _heir(self) -> Rig:
        return next(rig for rig in self._rigs if rig is not self._owner)

    async def ready(self) -> None:
        """Both are in the group, one has the partition, and both know who leads it."""

        async def settled() -> bool:
            await asyncio.gather(*(rig.turn() for rig in self._rigs))
            return all(rig.engine.ready for rig in self._rigs) and len(self._generations()) == 1

        await until(settled, "both workers are in the group", 120)

    def _generations(self) -> set[int]:
        return {rig.engine.consumer._coordinator.generation for rig in self._rigs}

    async def settled(self, offset: int) -> None:
        """The owner has everything up to here published and committed."""
        owner = self._owner

        async def done() -> bool:
            await owner.turn()
            await owner.commit()
            lane = owner.lane()
            return lane.committed is not None and lane.committed.offset >= offset

        await until(done, f"offset {offset} is committed", 120)

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """The heir hears of nothing new, as if nothing made it ask: it would by itself every half minute."""
        heir = self._heir
        cluster = heir.engine.consumer._client.cluster
        update = cluster.update_metadata

        def hear(metadata: object) -> None:
            if heir.engine.lanes and not self._handing_over:  # the group has given it the partition all by itself
                update(metadata)

        cluster.update_metadata = hear
        try:
            yield
        finally:
            del cluster.update_metadata

    def asking(self, leader: int) -> bool:
        """Whether a question of the heir waits for the frozen broker."""
        conns = self._rigs[0].engine.consumer._client._conns
        return any(node == leader and conn._requests for (node, _), conn in conns.items())

    async def hand_over(self) -> "asyncio.Task[None]":
        """The owner leaves; the heir asks what the topic holds, and waits for an answer."""
        owner, heir = self._owner, self._heir
        self._handing_over = True
        cluster = heir.engine.consumer._client.cluster
        await owner.engine.ownership.give_up(10)
        leaving = asyncio.create_task(stopped(owner.engine.consumer))
        await until(lambda: heir.engine.lanes, "the heir has the partition", 60)
        self._unaware = cluster.leader_for_partition(TopicPartition(self.stage.topics.tokens, 0)) == self.stage.leader
        self._rigs = [heir]
        return leaving

    async def outcome(self, bootstrap: str) -> Outcome:
        """What is on the topics when the heir has done its part."""
        await write(bootstrap, self.stage.topics.tokens, BEFORE + MEANWHILE, AFTER)
        [heir] = self._rigs

        async def live() -> bool:
            await heir.turn()
            await heir.commit()
            lanes = heir.engine.lanes.values()
            return any(lane.committed and lane.committed.offset >= BEFORE + MEANWHILE + AFTER for lane in lanes)

        await until(live, "the heir has committed all", 180)
        assert heir.failures == []
        found, expected = await self.stage.found(), await self.stage.expected()
        return Outcome(self.delivery, _count(expected), _count(found), found == expected, self._unaware)


def _count(outputs: dict[tuple[str, int], list[Content]]) -> int:
    return sum(map(len, outputs.values()))


async def write(bootstrap: str, topic: str, first: int, count: int) -> None:
    """Chunks of one message, by a producer that knows nothing from before."""
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all", enable_idempotence=True) as producer:
        for seq in range(first, first + count):
            chunk = {"message_id": "m", "seq": seq, "delta": f"{seq} "}
            await producer.send_and_wait(topic, json.dumps(chunk).encode(), key=b"c", partition=0)


@asynccontextmanager
async def _tries(
    cluster: KafkaCluster, leader: int, folder: Path, redis_url: str, names: Sequence[tuple[str, str]]
) -> AsyncIterator[list[Try]]:
    async with AsyncExitStack() as stack:
        tries = []
        for name, delivery in names:
            stage = Replicated(folder / name, cluster.bootstrap, name, redis_url, partitions=1)
            stage.leader, stage.nodes = leader, list(cluster.brokers)
            stage.settings["kafka"]["request_timeout_ms"] = 3_000
            await stack.enter_async_context(stage)
            rigs = [await stack.enter_async_context(rigged(stage, delivery=delivery)) for _ in range(2)]
            tries.append(Try(stage, rigs, delivery))
        yield tries


async def one_round(
    cluster: KafkaCluster, folder: Path, redis_url: str, names: Sequence[tuple[str, str]]
) -> list[Outcome]:
    """Freeze the leader once, for as many tries as there are names with deliveries; answers what came of each."""
    leader = await _not_coordinating(cluster)
    others = ",".join(broker.bootstrap for node, broker in cluster.brokers.items() if node != leader)
    async with _tries(cluster, leader, folder, redis_url, names) as tries:
        for each in tries:
            await each.ready()
            await write(cluster.bootstrap, each.stage.topics.tokens, 0, BEFORE)
        await asyncio.gather(*(each.settled(BEFORE) for each in tries))
        with ExitStack() as unheard:
            for each in tries:
                unheard.enter_context(each.unheard())
            cluster.brokers[leader].freeze()
            try:
                leaving = await _taken_over(tries, others, leader)
            finally:
                cluster.brokers[leader].thaw()
        outcomes = await asyncio.gather(*(each.outcome(others) for each in tries))
        await asyncio.gather(*leaving)
        return outcomes


async def _taken_over(tries: Sequence[Try], others: str, leader: int) -> "list[asyncio.Task[None]]":
    """Work goes on under another leader, then the owners leave; answers what they still do."""
    for each in tries:
        await until(lambda: _moved(others, each.stage.topics.tokens, leader), "another leader", 60)  # noqa: B023 -- waited for here
        await write(others, each.stage.topics.tokens, BEFORE, MEANWHILE)
    await asyncio.gather(*(each.settled(BEFORE + MEANWHILE) for each in tries))
    leaving = await asyncio.gather(*(each.hand_over() for each in tries))
    with suppress(AssertionError):  # who asks somebody else need not wait for this one
        await until(lambda: all(each.asking(leader) for each in tries), "all ask the frozen broker", IN_FLIGHT_S)
    return list(leaving)


async def _moved(bootstrap: str, topic: str, leader: int) -> bool:
    with suppress(KafkaError):
        async with admin_of(bootstrap) as admin:
            [found] = await admin.describe_topics([topic])
            return all(part["leader"] not in (leader, -1) for part in found["partitions"])
    return False


async def _not_coordinating(cluster: KafkaCluster) -> int:
    """A broker that keeps neither the groups' offsets nor the transactions: those go on."""
    async with AIOKafkaProducer(bootstrap_servers=cluster.bootstrap, transactional_id="nobody's"):
        pass  # now there is a topic of transactions

    async def quiet() -> int:
        with suppress(KafkaError):
            async with admin_of(cluster.bootstrap) as admin:
                await admin.find_coordinator("nobody's")
                found = await admin.describe_topics(["__consumer_offsets", "__transaction_state"])
                busy = {part["leader"] for topic in found for part in topic["partitions"]}
                return next((node for node in cluster.brokers if busy and node not in busy | {-1}), 0)
        return 0

    node: int = await until(quiet, "a broker without a coordinator", 60)
    return node
